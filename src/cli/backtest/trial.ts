import { type Logger, pino } from 'pino';
import type { CallEventRow } from '../../calls/timeline.ts';
import { Attempts, type AttemptParts } from '../../dispatch/attempt.ts';
import type { Handler, JoinTerms } from '../../dispatch/handler.ts';
import type { BodyDecoder } from '../../events/decoding.ts';
import { Activity } from '../../kit/activity.ts';
import { systemClock } from '../../kit/clock.ts';
import { Telemetry } from '../../receiver/telemetry.ts';
import type { ClaimedRun } from '../../store/claims.ts';
import type { StoredEvent } from '../../store/event-store.ts';
import type { Failure } from '../../store/failure-store.ts';
import type { WrittenRows } from '../../store/sqlite/connection/written-rows.ts';
import type { SqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { refusalMark } from './network.ts';

/**
 * How a run ended: `retried` if its handler asked for a later attempt, `refused` if it failed because it tried to use
 * the network, and `waiting` for a join that would not be called yet.
 */
export const endings = ['done', 'discarded', 'retried', 'failed', 'refused', 'waiting'] as const;
export type Ending = (typeof endings)[number];

export interface Trial {
  readonly ending: Ending;
  readonly failure: Failure | undefined;
  readonly rows: readonly WrittenRows[];
}

export interface TrialParts {
  readonly store: SqliteStore;
  readonly decoder: BodyDecoder;
  readonly logger: Logger;
}

/** Silent: a backtest reports on all runs together. */
const telemetry = new Telemetry(pino({ level: 'silent' }));
/** Never aborted: only its timeout or the end of the process ends a trial. */
const stop = new AbortController().signal;

/** Makes the first attempt of a run as a receiver would, and undoes what it commits. */
export async function tryRun(handler: Handler, stored: StoredEvent, parts: TrialParts): Promise<Trial> {
  const { store, decoder, logger } = parts;
  if (handler.join && (await isWaiting(handler.join, stored, store)))
    return { ending: 'waiting', failure: undefined, rows: [] };
  let failure: Failure | undefined;
  let ending: Ending = 'done';
  let rows: readonly WrittenRows[] = [];
  const settler: AttemptParts['settler'] = {
    settle(_run, { state }, failed) {
      failure = failed;
      ending = endingOf(failed, state.kind === 'dead');
      return Promise.resolve('settled');
    },
    async settleWith(_run, effects) {
      rows = await store.rehearse(effects);
      return 'settled';
    },
    persist: (write) => write(),
    countAttempt: ({ claimed }) => Promise.resolve(claimed),
    readNoted: async (_claimed, read) => read(),
  };
  const attempts = new Attempts({
    store: { calls: callsOf(handler, stored, store), mayHold: () => true },
    settler,
    decoder,
    telemetry,
    activity: new Activity(),
    tracing: { tracer: undefined },
    logger,
    clock: systemClock,
    random: Math.random,
    stop,
  });
  const claimed = {
    ...stored,
    handler: handler.name,
    attempts: 0,
    replay: undefined,
    waitsSince: stored.receivedAt,
    claim: undefined,
    crashCount: 0,
    readingCrashes: 0,
  };
  const attempted = await attempts.make({ handler, claimed, read: undefined });
  if (attempted) await attempts.settle(attempted);
  return { ending, failure, rows };
}

function endingOf(failure: Failure | undefined, isDead: boolean): Ending {
  if (!failure) return 'done';
  if (failure.reason.includes(refusalMark)) return 'refused';
  if (failure.cause === 'Discard') return 'discarded';
  return failure.cause === 'RetryLater' && !isDead ? 'retried' : 'failed';
}

/** A handler sees the call as it was when the event arrived; a join sees the whole call, as in a replay. */
function callsOf({ join }: Handler, { traceId }: StoredEvent, { calls }: SqliteStore) {
  const eventsOf = async (callId: string): Promise<readonly CallEventRow[]> => {
    const rows = await calls.eventsOf(callId);
    return join ? rows : rows.slice(0, rows.findIndex((row) => row.traceId === traceId) + 1);
  };
  return {
    eventsOf,
    noteSeen: async ({ callId = '' }: ClaimedRun) => ({ events: await eventsOf(callId), isSettled: false }),
  };
}

/** Whether the join still waits for events, and its time isn't over. */
async function isWaiting(join: JoinTerms, { callId }: StoredEvent, { calls }: SqliteStore): Promise<boolean> {
  const rows = callId === undefined ? [] : await calls.eventsOf(callId);
  const awaited = rows.filter(({ eventName }) => join.events.includes(eventName));
  // Not `Math.min(...)`: a call may have more events than a function can have arguments.
  const first = awaited.reduce((earliest, { receivedAt }) => Math.min(earliest, receivedAt), Infinity);
  const isComplete = join.events.every((name) => awaited.some(({ eventName }) => eventName === name));
  return !isComplete && first + join.within > systemClock.now();
}
