import type { Order } from '../../dispatch/handler.ts';
import type { ClaimedEvent, ClaimedRun } from '../claims.ts';
import type { Failure } from '../failure-store.ts';
import type { RunEnd, RunState } from '../store.ts';
import { type ClaimOnEvent, type ClaimOnRun, claimOf, claimOnEvent, isStored } from './claimed-work.ts';
import type { JoinArrival } from './join-progress.ts';

/** A run to write: which one, and under which claim. */
export interface RunToWrite extends ClaimOnRun {
  readonly callId: string | null;
  readonly order: Order;
  readonly isJoin: boolean;
  /** Whether it has a row already; if not, the claim on its event holds it. */
  readonly isStored: boolean;
  /** Whether no other run without a row is left, so that the claim on the event ends. */
  readonly isLast: boolean;
  /** The number of attempts that count. */
  readonly attempts: number;
  /** When it ended or was requeued, not when that is written. Milliseconds since 1970. */
  readonly now: number;
}

/** A run and its `RunEnd`, to be written. */
export interface RunEndRow extends RunToWrite {
  readonly state: RunState;
  /** When the run is due, in milliseconds since 1970; 0 for at once; null if its state isn't due. */
  readonly dueAt: number | null;
  /** How the attempt failed, if it did. */
  readonly failure: Failure | undefined;
}

export function runToWrite(run: ClaimedRun, isLast: boolean, now: number): RunToWrite {
  const { handler, callId = null, attempts } = run;
  const { order, join } = claimOf(run).terms;
  const own = { isJoin: join !== undefined, isStored: isStored(run), isLast };
  return { ...claimOnEvent(run), handler, callId, order, attempts, now, ...own };
}

/** `dueAt` keeps the length of the wait that was decided, because the wall clock may have been set since. */
export function runEndRow(run: ClaimedRun, end: RunEnd, isLast: boolean, now: number): RunEndRow {
  const { state, failure, attempts, decidedAt } = end;
  const dueAt = state.kind !== 'due' ? null : state.at === 0 ? 0 : now + state.at - decidedAt;
  return { ...runToWrite(run, isLast, decidedAt), attempts, state, failure, dueAt };
}

/** A row of the table `runs`, as far as an attempt changes it. */
export interface RunColumns {
  readonly state: 'done' | 'dead' | 'due' | 'blocked';
  readonly dueAt: number | null;
  readonly reason: string | null;
  readonly keepsReason: boolean;
  readonly failure: string | null;
  /** Whether the run only goes back to waiting: it keeps its reason, and the time since when it has waited. */
  readonly isWaiting: boolean;
}

/** The columns of a settled run. `mustWait`: an earlier run of its call comes first. */
export function columnsOfEnd({ state, dueAt, failure }: RunEndRow, mustWait: boolean): RunColumns {
  return {
    state: mustWait ? 'blocked' : state.kind,
    // A blocked run keeps the time before which it must not begin.
    dueAt,
    reason: state.kind === 'done' ? null : state.reason,
    keepsReason: state.kind === 'dead' && state.keepsReason === true,
    failure: failure?.group ?? null,
    isWaiting: false,
  };
}

/**
 * SQL: a new reason, followed by the run's former reason, which tells a person what was wrong before. The former reason
 * is cut, because it may have a former one itself, and so on.
 */
export function withFormerReason(reason: string): string {
  return `${reason} || coalesce(' (its reason was: ' || substr(nullif(reason, ''), 1, 500) || ')', '')`;
}

/** The columns of a run that is requeued before it has begun. */
export function columnsOfRequeue(mustWait: boolean): RunColumns {
  const kept = { reason: null, keepsReason: false, failure: null, isWaiting: true };
  return mustWait ? { ...kept, state: 'blocked', dueAt: null } : { ...kept, state: 'due', dueAt: 0 };
}

/** The arrival of a run's event, if the run is a join's and has no row: what is requeued is then not the run. */
export function joinArrivalOf(run: ClaimedRun, now: number): Omit<JoinArrival, 'isLast'> | undefined {
  const { handler, callId, eventName } = run;
  const { join } = claimOf(run).terms;
  if (!join || callId === undefined || isStored(run)) return undefined;
  return { ...claimOnEvent(run), callId, handler, eventName, ...join, now };
}

/** The claim that `beginReading` checks: on a stored run, or, if the handler is undefined, on the event. */
export interface ClaimToRead extends ClaimOnEvent {
  readonly handler: string | undefined;
  /** Whether the event is read for an attempt of a run, and not to find its handlers. */
  readonly isForAttempt: boolean;
}

export function claimToRead(claimed: ClaimedEvent | ClaimedRun): ClaimToRead {
  const isForAttempt = 'handler' in claimed;
  const handler = isForAttempt && isStored(claimed) ? claimed.handler : undefined;
  return { ...claimOnEvent(claimed), handler, isForAttempt };
}
