import { useEffect } from 'preact/hooks';
import type { Calls as Found } from '../api/shapes.ts';
import type { Field } from '../parts/filter-form.tsx';
import { duration } from '../parts/format.ts';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/standing.tsx';
import type { Column } from '../parts/table.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Route, goOn, linkTo } from '../router.ts';

const fields: readonly Field[] = [
  { name: 'callId', label: 'Call' },
  { name: 'agentId', label: 'Agent' },
  { name: 'status', label: 'Status', choices: ['in_progress', 'ended', 'transferred', 'analysed'] },
  { name: 'since', label: 'First seen since', isTime: true },
  { name: 'until', label: 'First seen before', isTime: true },
];

export function CallsView({ query: { callId, ...query } }: Route) {
  // A call is found only by its whole id, so it is opened instead of listed.
  useEffect(() => {
    if (callId) goOn(['calls', callId]);
  }, [callId]);
  return (
    <>
      <h1 tabIndex={-1}>Calls</h1>
      <List
        view="calls"
        query={query}
        fields={fields}
        topics={['calls', 'events']}
        rowsOf={({ calls }: Found) => calls}
        label="Calls"
        columns={columns}
        keyOf={(call) => call.callId}
      >
        <Empty title={Object.keys(query).length > 0 ? 'No call matches.' : 'No call has been seen yet.'}>
          A call appears with the first of its events. Events that name no call are under Events.
        </Empty>
      </List>
    </>
  );
}

const columns: readonly Column<Found['calls'][number]>[] = [
  {
    head: 'Started',
    cell: ({ startedAt, firstSeenAt }) => (
      <>
        {startedAt === undefined && 'first seen '}
        <Time at={startedAt ?? firstSeenAt} />
      </>
    ),
  },
  {
    head: 'Call',
    cell: ({ callId }) => (
      <a href={linkTo(['calls', callId])}>
        <Foreign text={callId} isCode />
      </a>
    ),
  },
  { head: 'Status', cell: ({ status }) => <State state={status} /> },
  {
    head: 'Lasted',
    cell: ({ durationMs }) => (durationMs === undefined ? '–' : duration(durationMs)),
    looks: 'count',
  },
  { head: 'Events', cell: ({ events }) => events.length, looks: 'count' },
  { head: 'Transfer', cell: ({ transfer }) => <Foreign text={transfer && (transfer.status ?? 'yes')} /> },
  { head: 'Agent', cell: ({ agentId }) => <Foreign text={agentId} isCode /> },
];
