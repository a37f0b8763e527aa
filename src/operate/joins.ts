import type { CallEventRow } from '../calls/timeline.ts';
import type { CallStore, KeptJoin } from '../store/call-store.ts';
import type { EventStore } from '../store/event-store.ts';
import { type StoredRun, storedRun } from './inbox-event.ts';

/** What a join waits for in one call, and how it has run, as the inbox knows it. */
export interface CallJoin {
  /** The join's name. */
  readonly handler: string;
  /** The names of the events that it waits for. */
  readonly events: readonly string[];
  /** Those of them that have not arrived. */
  readonly missing: readonly string[];
  /** When the first of them arrived; undefined if none of them is kept any more. */
  readonly since: Date | undefined;
  /** When it is called although events are missing; undefined if it doesn't wait for any. */
  readonly until: Date | undefined;
  /** What its latest attempt was called with: see `JoinedCall`. Undefined before the first attempt. */
  readonly called: { readonly complete: boolean; readonly missing: readonly string[] } | undefined;
  /** Its runs, the latest first: one more for an event that came late. At most 20. */
  readonly runs: readonly JoinRun[];
}

/** A run of a join, and the event that it belongs to. */
export interface JoinRun extends StoredRun {
  readonly traceId: string;
}

interface JoinsParts {
  readonly store: Pick<CallStore, 'joinsOf' | 'eventsOf'>;
  readonly events: Pick<EventStore, 'list'>;
}

/** A join of a call has one run, and seldom a second one: more than these are not worth reading. */
const maxRuns = 20;

/** The joins that have counted an event of the call, in order of their names. */
export async function joinsOf(callId: string, { store, events }: JoinsParts): Promise<readonly CallJoin[]> {
  const joins = await store.joinsOf(callId);
  if (joins.length === 0) return [];
  const arrived = await store.eventsOf(callId);
  const found: CallJoin[] = [];
  // One after the other: of a call with very many events, each is a search that takes a while.
  for (const join of joins) found.push(callJoinOf(join, arrived, await runsOf(events, callId, join.handler)));
  return found;
}

async function runsOf(
  events: JoinsParts['events'],
  callId: string,
  handler: string,
): Promise<readonly JoinRun[]> {
  const found = await events.list({ callId, handler }, { limit: maxRuns });
  return found.events.flatMap(({ traceId, runs }) =>
    runs.filter((run) => run.handler === handler).map((run) => ({ ...storedRun(run), traceId })),
  );
}

function callJoinOf(
  { handler, events, missing, seen }: KeptJoin,
  arrived: readonly CallEventRow[],
  runs: readonly JoinRun[],
): CallJoin {
  const own = arrived.filter(({ eventName }) => events.includes(eventName));
  const known = new Set([...own.map(({ eventName }) => eventName), ...(seen ?? [])]);
  const stillMissing = missing.filter((name) => !known.has(name));
  // Not `Math.min(...)`: a call under a placeholder id may have more events than fit on the stack.
  const first = own.reduce((earliest, { receivedAt }) => Math.min(earliest, receivedAt), Infinity);
  const waiting = runs.find(({ state }) => state === 'due');
  const unseen = events.filter((name) => seen?.includes(name) === false);
  return {
    handler,
    events,
    missing: stillMissing,
    since: own.length === 0 ? undefined : new Date(first),
    until: seen === undefined && stillMissing.length > 0 ? waiting?.dueAt : undefined,
    called: seen && { complete: unseen.length === 0, missing: unseen },
    runs,
  };
}
