/**
 * A run, and how it ends, from the handler to the inbox. Each of these types is made of the one before it:
 *
 * - `Outcome` (`handler.ts`): how one call of the handler ended
 * - `Conclusion`: the state that the run has after that, and why
 * - `AttemptEnd`: the conclusion with its run, and whether `ctx.commit` has settled it
 * - `EndedAttempt` (made in `attempt.ts`): the attempt with its end, to be settled and logged
 * - `RunEnd` (`store/store.ts`, made by the `Settler`): what the store is told
 * - the rows that the store writes (`store/shared/run-to-write.ts`)
 */
import type { CallEvent } from '../events/model.ts';
import { fingerprintOf, withoutVariables } from '../kit/error-text.ts';
import type { AttemptSpan } from '../kit/tracing.ts';
import type { ClaimedRun, CrashCounts } from '../store/claims.ts';
import type { Failure } from '../store/failure-store.ts';
import type { RunState } from '../store/store.ts';
import type { Handler, Outcome } from './handler.ts';

/** One handler's work on one event, claimed by this process. */
export interface Run {
  readonly handler: Handler;
  readonly claimed: ClaimedRun;
  /** The event, if it was read for this run: only one of its handlers gets that reading. The others read their own. */
  readonly read: CallEvent | undefined;
}

/** The state of a run after an attempt, for the store and the log. */
export interface Conclusion {
  readonly state: RunState;
  /** How many attempts have counted, this one included if it counts. */
  readonly attempts: number;
  /** Why the run isn't done, as one word that is safe to log. */
  readonly cause: string | undefined;
  /** Where in the user's own files the error was thrown. */
  readonly location?: string | undefined;
  /** Why the stored event can't be read, as one word. */
  readonly unreadable?: string | undefined;
}

/** An attempt that has begun. */
export interface Attempt {
  /** The run as it is tried: one whose attempt is counted in advance has a row from then on. */
  readonly run: Run;
  /** Undefined if nothing is traced. */
  readonly span: AttemptSpan | undefined;
  /** By the monotonic clock. */
  readonly startedAt: number;
}

/** How an attempt has ended. */
export interface AttemptEnd {
  /** The run as it was tried. */
  readonly run: Run;
  readonly conclusion: Conclusion;
  /** Whether `ctx.commit` has settled it. */
  readonly isSettled?: boolean;
}

/** An attempt that has ended, to be settled. */
export interface EndedAttempt extends Attempt, AttemptEnd {
  /** Milliseconds until its handler ended. */
  readonly duration: number;
}

/**
 * Whether an event, or a run of it, may kill the process, because it may have killed one. Such an event is tried by
 * itself, and each attempt is counted before it begins.
 */
export function mayBePoison({ crashCount }: CrashCounts): boolean {
  return crashCount > 0;
}

/** How many characters of a reason are stored: an error's message can be as long as the data that it quotes. */
const maxReason = 500;

/** Turns the outcome of an attempt into what is stored: a retry without attempts left is a dead letter. */
export function conclude({ claimed, handler }: Run, outcome: Outcome, now: number): Conclusion {
  const attempts = claimed.attempts + 1;
  if (outcome.kind === 'done') return { state: { kind: 'done' }, attempts, cause: undefined };
  const { cause, location } = outcome;
  const reason = outcome.reason.slice(0, maxReason);
  if (outcome.kind === 'dead') return { state: { kind: 'dead', reason }, attempts, cause, location };
  if (!outcome.counts) return { state: { kind: 'due', at: 0, reason }, attempts: claimed.attempts, cause };
  if (attempts >= handler.retry.attempts)
    return { state: { kind: 'dead', reason }, attempts, cause, location };
  return { state: { kind: 'due', at: now + outcome.delay, reason }, attempts, cause, location };
}

/**
 * The end of a run whose attempts are all counted but that is not settled: the process died in the last one, or the
 * handler is allowed fewer attempts since.
 */
export function exhausted(run: ClaimedRun): Conclusion {
  const { attempts } = run;
  const hasDied = mayBePoison(run);
  const why = hasDied ? 'the process ended during an attempt, and ' : '';
  const state = deadFor(`${why}no attempt is left after ${attempts}`);
  return { state, attempts, cause: hasDied ? 'process_died' : 'no_attempt_left' };
}

/** The end of a run or of a whole event whose stored bytes can't be read any more. */
export function unreadable(reason: string, attempts: number): Conclusion {
  const state = deadFor(`the stored event can't be read any more: ${reason}`);
  return { state, attempts, cause: undefined, unreadable: reason };
}

/** How an attempt failed; undefined if it didn't, or if a stop interrupted it, which doesn't count. */
export function failureOf(
  { attempts: before }: Pick<ClaimedRun, 'attempts'>,
  handler: string,
  { state, attempts, ...conclusion }: Conclusion,
  duration: number,
): Failure | undefined {
  if (state.kind === 'done' || (state.kind === 'due' && attempts === before)) return undefined;
  const cause = conclusion.cause ?? 'event_unreadable';
  const { location } = conclusion;
  const message = withoutVariables(state.reason);
  const group = fingerprintOf(handler, cause, location, message);
  return { group, cause, location, reason: state.reason, message, duration: Math.round(duration) };
}

/** The state of a run that is given up without an attempt. */
export function deadFor(reason: string): RunState {
  return { kind: 'dead', reason, keepsReason: true };
}
