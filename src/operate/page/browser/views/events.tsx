import type { Event, Events as Found } from '../api/shapes.ts';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Route, linkTo } from '../router.ts';
import { useEventFields, useHandlerNames } from './event-fields.ts';

export function EventsView({ query }: Route) {
  const isFiltered = Object.keys(query).length > 0;
  return (
    <>
      <h1 tabIndex={-1}>Events</h1>
      <List
        view="events"
        query={query}
        fields={useEventFields(query, useHandlerNames())}
        topics={['events']}
        rowsOf={({ events }: Found): readonly Event[] => events}
        label="Events"
        columns={columns}
        keyOf={({ traceId }) => traceId}
      >
        <Empty title={isFiltered ? 'No event matches.' : 'No event has arrived yet.'}>
          {isFiltered
            ? 'Remove a filter, or check the quarantine: refused deliveries are not events.'
            : 'Subscribe this receiver to events, or check the quarantine if deliveries were sent.'}
        </Empty>
      </List>
    </>
  );
}

/** The events of one call, without the column that names it. */
export function EventTable({ events }: { readonly events: readonly Event[] }) {
  const shown = columns.filter(({ head }) => head !== 'Call');
  return <Table label="Events" columns={shown} rows={events} keyOf={({ traceId }) => traceId} />;
}

const columns: readonly Column<Event>[] = [
  { head: 'Arrived', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
  {
    head: 'Event',
    cell: ({ traceId, eventName }) => (
      <a href={linkTo(['events', traceId])}>
        <Foreign text={eventName} />
      </a>
    ),
  },
  { head: 'State', cell: (event) => <Standing event={event} /> },
  { head: 'Call', cell: ({ callId }) => <CallLink callId={callId} /> },
  { head: 'Trace id', cell: ({ traceId }) => <Foreign text={traceId} isCode /> },
];

function CallLink({ callId }: { readonly callId: string | undefined }) {
  if (callId === undefined) return <span class="faint">–</span>;
  return (
    <a href={linkTo(['calls', callId])}>
      <Foreign text={callId} isCode />
    </a>
  );
}

const worstFirst = ['dead', 'blocked', 'due', 'running', 'done'] as const;

/** The states of an event's runs, or the event's own state if no run is stored. */
function Standing({ event: { state, runs } }: { readonly event: Event }) {
  if (runs.length === 0) return <State state={state} />;
  const states = worstFirst.filter((wanted) => runs.some((run) => run.state === wanted));
  return (
    <>
      {states.map((wanted) => {
        const names = runs.filter((run) => run.state === wanted).map((run) => run.handler);
        return (
          <span key={wanted} class="of-handlers" title={names.join(', ')}>
            <State state={wanted} />{' '}
            <span dir="auto">{names.length > 2 ? `${names.length} handlers` : names.join(', ')}</span>
          </span>
        );
      })}
    </>
  );
}
