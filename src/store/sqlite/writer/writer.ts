import type { ClaimedEvent } from '../../claims.ts';
import type { Sequence } from '../../event-record.ts';
import type { Recording } from '../../store.ts';
import type { ArgsOf, MethodOf, Part, ResultOf } from '../connection/statements.ts';
import type { EventRow, RecordedRow } from '../work/record.ts';
import type { LockedWork } from './write-lock.ts';
import type { WriteFailure, WriteItem } from './write-message.ts';

export interface WriteOptions {
  /**
   * Whether a delivery's answer waits for the write, and is 503 if it takes longer than `recordTimeout`. Default false.
   */
  readonly isAwaited?: boolean;
  /** How many bytes the write carries; the sum over all writes is bounded. Default 0. */
  readonly bytes?: number;
  /** Buffers in the arguments to transfer to the writer thread instead of copying them. Default none. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Gives the write a transaction of its own, because it may take long. Default false. */
  readonly isAlone?: boolean;
}

/** A write, and what the options say of it. */
export interface Sendable {
  readonly item: WriteItem;
  readonly isAwaited: boolean;
  readonly bytes: number;
  readonly transfer?: readonly ArrayBuffer[];
}

/** Callbacks for the outcome of a write, `onWritten` or `onFailed`: synchronous, and in the order of the writes. */
export interface WriteCallbacks {
  /** Called even if nobody waits any more, because the write has taken effect. */
  readonly onWritten: (result: unknown) => void;
  readonly onFailed: (error: Error) => void;
  /** Called first if the sender must be answered before the outcome, which still follows. Default `onFailed`. */
  readonly onGivenUp?: (error: Error) => void;
}

/**
 * Makes this process's writes to the inbox, many in one commit. They are answered in the order in which they were
 * requested, once they are on disk; `write-group.ts` decides the order within a commit.
 */
export abstract class Writer {
  /** Whether an event that came now would wait longer than its sender does. */
  abstract readonly isOverloaded: boolean;

  /** Runs `work` on this thread as soon as nothing else in this process writes, or as writing is refused. */
  abstract borrowLock(work: LockedWork): void;
  /** Blocks until nothing else in this process writes, and runs `work`. Throws if writing is refused. */
  abstract borrowLockNow<T>(work: () => T): T;
  /** Resolves when the writer can write. */
  abstract ready(): Promise<void>;
  /** Waits for the writes that are left, and ends. */
  abstract close(): Promise<void>;
  protected abstract add(write: Sendable, callbacks: WriteCallbacks): void;

  /** Calls a method of a part of the statements. `onWritten` is called synchronously, in the order of the writes. */
  run<P extends Part, M extends MethodOf<P>>(
    part: P,
    method: M,
    args: ArgsOf<P, M>,
    { isAwaited = false, bytes = 0, isAlone = false, transfer = [] }: WriteOptions = {},
    onWritten: (result: ResultOf<P, M>) => void = () => {},
  ): Promise<ResultOf<P, M>> {
    const item = { part, method, args, isAlone, bytes };
    return this.#write({ item, isAwaited, bytes, transfer }, (result) => {
      onWritten(result as ResultOf<P, M>);
      return result as ResultOf<P, M>;
    });
  }

  /** Records an event. `claimedOf` makes the claimed event, synchronously and in the order of the writes. */
  record(row: EventRow, claimedOf: (sequence: Sequence) => ClaimedEvent): Recording {
    const written = Promise.withResolvers<'new' | 'duplicate'>();
    const claimed = Promise.withResolvers<ClaimedEvent | undefined>();
    const callbacks: WriteCallbacks = {
      onWritten(result) {
        const { sequence, isClaimed } = result as RecordedRow;
        claimed.resolve(isClaimed && sequence !== undefined ? claimedOf(sequence) : undefined);
        written.resolve(sequence === undefined ? 'duplicate' : 'new');
      },
      onFailed(error) {
        claimed.resolve(undefined);
        written.reject(error);
      },
      onGivenUp: written.reject,
    };
    this.add({ item: row, isAwaited: true, bytes: row.body.byteLength }, callbacks);
    return { written: written.promise, claimed: claimed.promise };
  }

  /** Ends the claim on an event; resolves to whether it still held. */
  endClaim(sequence: Sequence): Promise<boolean> {
    return this.#write({ item: sequence, isAwaited: false, bytes: 0 }, (isHeld) => isHeld as boolean);
  }

  #write<T>(write: Sendable, resultOf: (result: unknown) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.add(write, { onWritten: (result) => resolve(resultOf(result)), onFailed: reject });
    });
  }
}

/** Restores the error of a failed write, of which only message and code are sent between threads. */
export function errorOf({ message, code }: WriteFailure): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
