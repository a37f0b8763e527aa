import type { Order } from '../../dispatch/handler.ts';
import type { Failure } from '../failure-store.ts';
import type { Sequence } from '../event-record.ts';
import type { RunEnd, RunState } from '../store.ts';

/** A run to write: which one, and under which claim. */
export interface RunToWrite {
  readonly sequence: Sequence;
  readonly handler: string;
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

/** The end of an attempt, to be written. */
export interface EndToWrite {
  readonly state: RunState;
  /** When the run is due, in milliseconds since 1970; 0 for at once; null if its state isn't due. */
  readonly dueAt: number | null;
  /** How the attempt failed, if it did. */
  readonly failure: Failure | undefined;
}

/** `dueAt` keeps the length of the wait that was decided, because the wall clock may have been set since. */
export function endToWrite({ state, failure, decidedAt }: RunEnd, now: number): EndToWrite {
  if (state.kind !== 'due') return { state, failure, dueAt: null };
  return { state, failure, dueAt: state.at === 0 ? 0 : now + state.at - decidedAt };
}

/**
 * Whether ending the event's claim is all there is to write: the run is done, has no row, and is the last such run of
 * its event. Not with order `strict`, where the next run may have to be unblocked; and not for a join, which remembers
 * that it is settled.
 */
export function isOrdinary({ state, isStored, isLast, isJoin, order }: RunToWrite & EndToWrite): boolean {
  return state.kind === 'done' && isLast && !isStored && !isJoin && order !== 'strict';
}
