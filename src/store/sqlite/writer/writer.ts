import type { Sequence } from '../../event-record.ts';
import type { ArgsOf, MethodOf, Part, ResultOf } from '../connection/statements.ts';
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

/** A write that has not been answered. `onWritten` or `onFailed` is called synchronously, in the order of the writes. */
export interface PendingWrite extends Pick<WriteOptions, 'transfer'> {
  readonly item: WriteItem;
  readonly isAwaited: boolean;
  readonly bytes: number;
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
  /** Requests a write. */
  abstract add(write: PendingWrite): void;

  /** Calls a method of a part of the statements. `onWritten` is called synchronously, in the order of the writes. */
  run<P extends Part, M extends MethodOf<P>>(
    part: P,
    method: M,
    args: ArgsOf<P, M>,
    { isAwaited = false, bytes = 0, isAlone = false, transfer = [] }: WriteOptions = {},
    onWritten: (result: ResultOf<P, M>) => void = () => {},
  ): Promise<ResultOf<P, M>> {
    return new Promise((resolve, reject) => {
      this.add({
        item: { part, method, args, isAlone, bytes },
        isAwaited,
        bytes,
        transfer,
        onWritten: (result) => {
          onWritten(result as ResultOf<P, M>);
          resolve(result as ResultOf<P, M>);
        },
        onFailed: reject,
      });
    });
  }

  /** Ends the claim on an event; resolves to whether it still held. */
  endClaim(sequence: Sequence): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const onWritten = resolve as (isHeld: unknown) => void;
      this.add({ item: sequence, isAwaited: false, bytes: 0, onWritten, onFailed: reject });
    });
  }
}

/** Restores the error of a failed write, of which only message and code are sent between threads. */
export function errorOf({ message, code }: WriteFailure): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
