import { pathOf } from '../api/client.ts';
import { presentTime } from '../api/present.ts';
import type { Event, Run } from '../api/shapes.ts';
import { usePresent } from '../api/use-present.ts';
import { useResource } from '../api/use-resource.ts';
import { Body } from '../parts/body.tsx';
import { duration, number } from '../parts/format.ts';
import { Dismiss, Replay } from '../parts/run-changes.tsx';
import { Signature } from '../parts/signature.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Fact, Facts, Foreign, State, Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';

export function EventView({ traceId }: { readonly traceId: string }) {
  const path = `/events${pathOf(traceId)}`;
  const resource = useResource<Event>(path, ['events', 'failures']);
  return (
    <Loaded resource={resource} heading={`Event ${traceId}`}>
      {(event) => <OneEvent event={event} path={path} />}
    </Loaded>
  );
}

function OneEvent({ event, path }: { readonly event: Event; readonly path: string }) {
  const isDead = event.runs.some(({ state }) => state === 'dead');
  const { traceId, callId } = event;
  return (
    <>
      <p class="way">
        <a href={linkTo(['events'])}>Events</a>
      </p>
      <div class="title">
        <h1 tabIndex={-1} dir="auto">
          {event.eventName}
        </h1>
        <State state={isDead ? 'dead' : event.state} />
        <div class="buttons">
          <Replay filter={isDead ? { traceId, state: 'dead' } : { traceId }} what="this event" />
          {isDead && <Dismiss filter={{ traceId, state: 'dead' }} what="the dead letters of this event" />}
        </div>
      </div>
      <Facts>
        <Fact name="Trace id">
          <Foreign text={traceId} isCode />
        </Fact>
        <Fact name="Call">
          {callId === undefined ? (
            <span class="faint">names none</span>
          ) : (
            <a href={linkTo(['calls', callId])}>
              <Foreign text={callId} isCode />
            </a>
          )}
        </Fact>
        <Fact name="Happened">
          <Time at={event.occurredAt} isLong />
        </Fact>
        <Fact name="Arrived">
          <Time at={event.receivedAt} isLong />
        </Fact>
        <Fact name="Duplicates">
          <Duplicates duplicates={event.duplicates} />
        </Fact>
        <Fact name="Agent">
          <Foreign text={event.agentId} isCode />
        </Fact>
        <Fact name="Organization">
          <Foreign text={event.organizationId} isCode />
        </Fact>
        {event.source === 'reconciled' && (
          <Fact name="Source">
            reconciled: never delivered, but rebuilt from the platform's record of the call
          </Fact>
        )}
      </Facts>
      <h2>Runs</h2>
      {event.runs.length === 0 ? (
        <Empty title="No run is stored.">
          {event.state === 'done'
            ? 'Every matching handler was done at the first attempt, or no handler matches it.'
            : 'It waits to be handled.'}
        </Empty>
      ) : (
        <Table label="Runs" columns={columns} rows={event.runs} keyOf={({ handler }) => handler} />
      )}
      {event.runs.map((run) => run.failures && <Failures key={run.handler} run={run} />)}
      {event.source === 'delivered' && <Signature path={path} />}
      <Body path={path} />
    </>
  );
}

function Duplicates({ duplicates }: Pick<Event, 'duplicates'>) {
  if (!duplicates) return <span class="faint">none counted</span>;
  const { count, firstSeenAt, lastSeenAt } = duplicates;
  if (count === 1)
    return (
      <>
        1, at <Time at={firstSeenAt} />
      </>
    );
  return (
    <>
      {number(count)}, the first at <Time at={firstSeenAt} />, the last at <Time at={lastSeenAt} />
    </>
  );
}

const columns: readonly Column<Run>[] = [
  {
    head: 'Handler',
    cell: ({ handler }) => (
      <a href={linkTo(['handlers', handler])}>
        <Foreign text={handler} />
      </a>
    ),
  },
  { head: 'State', cell: ({ state }) => <State state={state} /> },
  { head: 'Attempts', cell: ({ attempts }) => attempts, looks: 'count' },
  { head: 'When', cell: (run) => <When run={run} /> },
  {
    head: 'Why it failed or was dismissed',
    cell: ({ reason, replay, failures = [] }) => (
      <div class={failures.length > 0 ? 'more-below' : undefined}>
        <Foreign text={reason} />
        {replay !== undefined && <span class="faint"> (replay {replay})</span>}
      </div>
    ),
    looks: 'wide',
  },
];

/** When a run was settled, or is due. */
export function When({ run: { state, settledAt, dueAt } }: { readonly run: Run }) {
  const isPast = usePresent(() => dueAt !== undefined && Date.parse(dueAt) <= presentTime());
  if (settledAt !== undefined) return <Time at={settledAt} />;
  if (state !== 'due' || dueAt === undefined) return <span class="faint">–</span>;
  if (isPast) return <>at once</>;
  return (
    <>
      next at <Time at={dueAt} />
    </>
  );
}

function Failures({ run: { handler, state, failures = [] } }: { readonly run: Run }) {
  if (failures.length === 0) return null;
  return (
    <section>
      <h2>
        Failed attempts of <Foreign text={handler} />
      </h2>
      <ol class="attempts">
        {failures.map((failure) => (
          // A replay counts its attempts from 1 again.
          <li key={`${failure.attempt} ${failure.at}`} value={failure.attempt}>
            <div>
              <Time at={failure.at} /> <State state={failure.outcome} />{' '}
              <span class="faint">after {duration(failure.duration)}</span>{' '}
              <Foreign text={failure.cause} isCode />
            </div>
            <Foreign text={failure.reason} />
            {failure.location !== undefined && (
              <div class="faint">
                <Foreign text={failure.location} isCode />
              </div>
            )}
          </li>
        ))}
      </ol>
      {state !== 'done' && (
        <p class="links">
          <a href={linkTo(['failures'], { handler })}>All failures of this handler</a>
        </p>
      )}
    </section>
  );
}
