import { withQuery } from '../api/client.ts';
import type { Calls as Found } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { type Field, FilterForm } from '../parts/filter-form.tsx';
import { duration } from '../parts/format.ts';
import { Pages, pageSize } from '../parts/pages.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Place, goTo, linkTo } from '../router.ts';

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
  if (callId) goTo(['calls', callId]);
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
              <CallTable calls={calls} />
              <Pages view="calls" query={query} next={cursor} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function CallTable({ calls }: Pick<Found, 'calls'>) {
  return (
    <div class="table" role="region" aria-label="Calls" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Started</th>
            <th scope="col">Call</th>
            <th scope="col">Status</th>
            <th scope="col" class="count">
              Lasted
            </th>
            <th scope="col" class="count">
              Events
            </th>
            <th scope="col">Transfer</th>
            <th scope="col">Agent</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.callId}>
              <td>
                <Time at={call.startedAt ?? call.firstSeenAt} />
              </td>
              <td>
                <a href={linkTo(['calls', call.callId])}>
                  <Foreign text={call.callId} isCode />
                </a>
              </td>
              <td>
                <State state={call.status} />
              </td>
              <td class="count">{call.durationMs === undefined ? '–' : duration(call.durationMs)}</td>
              <td class="count">{call.events.length}</td>
              <td>
                <Foreign text={call.transfer && (call.transfer.status ?? 'yes')} />
              </td>
              <td>
                <Foreign text={call.agentId} isCode />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
