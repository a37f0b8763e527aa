import type { EventRow, RecordedRow } from '../work/record.ts';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';
import type { LockedWork } from './write-lock.ts';
import type { Operation, WriteFailure, WrittenMessage } from './write-message.ts';

/** A write that has not been answered. `onWritten` or `onFailed` is called synchronously, in the order of the writes. */
export interface PendingWrite<Item = unknown, Result = unknown> {
  readonly item: Item;
  /** How many bytes it carries; the sum over all writes is bounded. Default 0. */
  readonly bytes?: number;
  /** Called even if nobody waits any more, because the write has taken effect. */
  onWritten(result: Result): void;
  onFailed(error: Error): void;
  /** Called first if the sender must be answered before the outcome, which still follows. Default `onFailed`. */
  onGivenUp?(error: Error): void;
  /** When its sender stops waiting, by the monotonic clock; undefined if nobody waits, or nobody any more. */
  deadline?: number | undefined;
}

export interface PendingOperation extends PendingWrite<Operation> {
  /**
   * Whether a delivery's answer waits for it, and is 503 if it takes longer than `recordTimeout`. Default false.
   */
  readonly isAwaited?: boolean;
  /** Buffers in its arguments to transfer to the writer thread instead of copying them. Default none. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Gives it a transaction of its own, because it may take long. Default false. */
  readonly isAlone?: boolean;
}

/**
 * Makes this process's writes to the inbox, many in one commit. They are answered once they are on disk: commit by
 * commit, and of one commit first the events, then the ends of claims, and then the operations, as they took effect.
 */
export interface Writer {
  /** Whether an event that came now would wait longer than its sender does. */
  readonly isOverloaded: boolean;

  /** Writes an event, for which its sender waits. */
  addEvent(write: PendingWrite<EventRow, RecordedRow>): void;
  /** Ends the claim on an event. The result says whether it still held. */
  addEnd(write: PendingWrite<ClaimOnEvent, boolean>): void;
  /** Makes any other write. */
  addOperation(write: PendingOperation): void;

  /** Runs `work` on this thread as soon as nothing else in this process writes, or as writing is refused. */
  borrowLock(work: LockedWork): void;
  /** Blocks until nothing else in this process writes, and runs `work`. Throws if writing is refused. */
  borrowLockNow<T>(work: () => T): T;
  /** Resolves when the writer can write. */
  ready(): Promise<void>;
  /** Waits for the writes that are left, and ends. */
  close(): Promise<void>;
}

/** Writes that are made together, by kind. */
export interface Batch {
  readonly events: PendingWrite<EventRow, RecordedRow>[];
  readonly ends: PendingWrite<ClaimOnEvent, boolean>[];
  readonly operations: PendingOperation[];
  count: number;
  bytes: number;
  /** Whether it gets a transaction of its own, because it may take long. */
  readonly isAlone: boolean;
}

export function newBatch(isAlone = false): Batch {
  return { events: [], ends: [], operations: [], count: 0, bytes: 0, isAlone };
}

/** A write of any kind: of each, the result is of another type. */
export type AnyWrite = PendingWrite<unknown, never>;

/** What became of writes. */
export type Outcomes = Pick<WrittenMessage, 'results' | 'failures'>;

/** Calls back each of the writes that were made together, in their order. */
export function answer(writes: readonly AnyWrite[], { results, failures }: Outcomes): void {
  const reasons = new Map(failures);
  for (const [index, write] of writes.entries()) {
    const failure = reasons.get(index);
    // An error in one callback must not affect the other writes, which were written too.
    try {
      if (failure) write.onFailed(errorOf(failure));
      else write.onWritten(results[index] as never);
    } catch (error) {
      write.onFailed(error as Error);
    }
  }
}

/** Restores the error of a failed write, of which only message and code are sent between threads. */
export function errorOf({ message, code }: WriteFailure): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
