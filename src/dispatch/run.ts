/**
 * A run, and the types of how it ended, from the handler to the inbox. Each is made of the one before it:
 *
 * - `Outcome` (`handler.ts`): how one call of the handler ended
 * - `Conclusion` (made in `conclude.ts`): the state that the run has after that, and why
 * - `Attempted` (made in `attempt.ts`): the conclusion with its run, to be settled and logged
 * - `RunEnd` (`store/store.ts`, made in `settler.ts`): what the store is told
 * - the rows that the store writes (`store/shared/run-to-write.ts`)
 */
import type { CallEvent } from '../events/model.ts';
import type { AttemptSpan } from '../kit/tracing.ts';
import type { ClaimedRun } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';
import type { Handler } from './handler.ts';

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
  readonly span: AttemptSpan;
  /** By the monotonic clock. */
  readonly startedAt: number;
}

/** How an attempt has ended. */
export interface Ended {
  /** The run as it was tried. */
  readonly run: Run;
  readonly conclusion: Conclusion;
  /** Whether `ctx.commit` has settled it. */
  readonly isSettled?: boolean;
}

/** An attempt that has ended, to be settled. */
export interface Attempted extends Attempt, Ended {
  /** Milliseconds until its handler ended. */
  readonly duration: number;
}
