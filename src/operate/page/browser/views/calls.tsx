import { useEffect } from 'preact/hooks';
import { withQuery } from '../api/client.ts';
import type { Calls as Found } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { type Field, FilterForm } from '../parts/filter-form.tsx';
import { duration } from '../parts/format.ts';
import { Pages, pageSize } from '../parts/pages.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Place, goOn, linkTo } from '../router.ts';

const fields: readonly Field[] = [
  { name: 'callId', label: 'Call' },
  { name: 'agentId', label: 'Agent' },
  { name: 'status', label: 'Status', choices: ['in_progress', 'ended', 'transferred', 'analysed'] },
  { name: 'since', label: 'First seen since', isTime: true },
  { name: 'until', label: 'First seen before', isTime: true },
];

export function CallsView({ query: { callId, ...query } }: Place) {
  const resource = useResource<Found>(withQuery('/calls', { ...query, limit: pageSize }), [
    'calls',
    'events',
  ]);
  // A call is found by its whole id only: then there is nothing to list.
  useEffect(() => {
    if (callId) goOn(['calls', callId]);
  }, [callId]);
  return (
    <>
      <h1 tabIndex={-1}>Calls</h1>
      <FilterForm view="calls" fields={fields} query={query} />
      <Loaded resource={resource}>
        {({ calls, cursor }) =>
          calls.length === 0 ? (
            <Empty
              title={Object.keys(query).length > 0 ? 'No call is like this.' : 'No call has been seen yet.'}
            >
              A call appears with the first of its events. Events that name no call are under Events.
            </Empty>
          ) : (
            <>
              <Table label="Calls" columns={columns} rows={calls} keyOf={(call) => call.callId} />
              <Pages view="calls" query={query} next={cursor} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

const columns: readonly Column<Found['calls'][number]>[] = [
  { head: 'Started', cell: ({ startedAt, firstSeenAt }) => <Time at={startedAt ?? firstSeenAt} /> },
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
