/** What joins wait for in a call, and how they have run. */
import { pathOf } from '../../api/client.ts';
import { presentTime } from '../../api/present.ts';
import type { Joins } from '../../api/shapes.ts';
import { usePresent } from '../../api/use-present.ts';
import { useResource } from '../../api/use-resource.ts';
import { Refused } from '../../parts/standing.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Foreign, State, Time } from '../../parts/text.tsx';
import { linkTo } from '../../router.ts';
import { When } from '../event.tsx';

type Join = Joins['joins'][number];

/** Nothing for most calls, which have no join. */
export function CallJoins({ callId }: { readonly callId: string }) {
  const { data, refusal, reload } = useResource<Joins>(`/calls${pathOf(callId)}/joins`, ['calls', 'events']);
  if (refusal && !data) return <Refused refusal={refusal} retry={reload} />;
  if (!data || data.joins.length === 0) return null;
  return (
    <section>
      <h2>Joins</h2>
      <Table label="Joins" columns={columns} rows={data.joins} keyOf={({ handler }) => handler} />
    </section>
  );
}

const columns: readonly Column<Join>[] = [
  { head: 'Join', cell: ({ handler }) => <Foreign text={handler} /> },
  { head: 'State', cell: (join) => <Standing join={join} /> },
  { head: 'Waits for', cell: (join) => <Awaited join={join} />, looks: 'wide' },
  { head: 'When', cell: (join) => <Wait join={join} /> },
  { head: 'Called', cell: (join) => <Called join={join} />, looks: 'wide' },
];

function Standing({ join }: { readonly join: Join }) {
  return <State state={usePresent(() => stateOf(join))} />;
}

/** `waiting` until it is called; then the state of its latest run, which retention may have removed. */
function stateOf({ until, runs: [latest] }: Join): string {
  if (until !== undefined && Date.parse(until) > presentTime()) return 'waiting';
  return latest?.state ?? 'settled';
}

function Awaited({ join: { events, missing } }: { readonly join: Join }) {
  return events.map((name) => (
    <div key={name}>
      <Foreign text={name} /> <span class="faint">{missing.includes(name) ? 'missing' : 'arrived'}</span>
    </div>
  ));
}

function Wait({ join: { since, until } }: { readonly join: Join }) {
  return (
    <>
      <div>
        since <Time at={since} />
      </div>
      {until !== undefined && (
        <div>
          until <Time at={until} />
        </div>
      )}
    </>
  );
}

function Called({ join: { called, runs } }: { readonly join: Join }) {
  if (!called) return <span class="faint">not yet</span>;
  return (
    <>
      {called.complete ? (
        'complete'
      ) : (
        <>
          timed out, without <Foreign text={called.missing.join(', ')} />
        </>
      )}
      {runs.map((run) => (
        <div key={run.traceId}>
          <a href={linkTo(['events', run.traceId])}>{run.state}</a> <When run={run} />
        </div>
      ))}
    </>
  );
}
