import type { ClaimedEvent } from '../../claims.ts';
import type { Sequence } from '../../event-record.ts';
import type { Recording } from '../../store.ts';
import type { EventRow, RecordedRow } from '../work/record.ts';
import type { OperationName, Operations } from './operations.ts';
import { type WriteFailure, type WriteItem, probe, sync } from './write-message.ts';

export interface WriteOptions {
  /** Whether a delivery is answered after it, with 503 if it takes longer than `recordTimeout`. Default false. */
  readonly isAwaited?: boolean;
  /** How many bytes it carries, so that the memory of all writes stays bounded. Default 0. */
  readonly bytes?: number;
  /** Buffers in its arguments that are handed over to the writer's thread instead of being copied. Default none. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Gives the write a transaction of its own, because it may take long. Default false. */
  readonly isAlone?: boolean;
  /** How long it may wait for another process that has locked the database, in milliseconds. Default without end. */
  readonly timeout?: number;
}

export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** A write, and the buffers in it that are handed over to the writer's thread instead of being copied. */
export interface Sendable {
  readonly item: WriteItem;
  readonly transfer?: readonly ArrayBuffer[];
}

/**
 * What is called when it is known what became of a write: exactly one of `onWritten` and `onFailed`, once, synchronously and in
 * the order of the writes.
 */
export interface WriteCallbacks {
  /** Called whether or not anybody still waits: what was written has an effect all the same. */
  readonly onWritten: (result: unknown) => void;
  readonly onFailed: (error: Error) => void;
  /** Called first if the sender must be answered before the outcome is known. Default `onFailed`. */
  readonly onGivenUp?: (error: Error) => void;
}

/**
 * Makes every write of this process to the inbox, many of them in one commit. They are answered in the order in which they
 * were requested, each when it is on disk; the order within a commit is that of `write-group.ts`.
 */
export abstract class Writer {
  /** Whether an event that came now would have to wait for longer than its sender does. */
  abstract readonly isOverloaded: boolean;

  /** Runs `work` on this thread as soon as nothing else in this process writes. */
  abstract borrowLock(work: () => void): void;
  /** The same at once; blocks until then. */
  abstract borrowLockNow<T>(work: () => T): T;
  /** Resolves when it can write. */
  abstract ready(): Promise<void>;
  /** From now on, writes that would have to wait for another process fail. */
  abstract abandon(): void;
  /** Writes what is left, and ends. */
  abstract close(): Promise<void>;
  protected abstract add(write: Sendable, callbacks: WriteCallbacks): void;

  /** Runs an operation. `onWritten` is called synchronously, in the order of the writes. */
  run<Name extends OperationName>(
    name: Name,
    args: Parameters<Operations[Name]>,
    { isAwaited = false, bytes = 0, isAlone = false, timeout = Infinity, transfer = [] }: WriteOptions = {},
    onWritten: (result: ResultOf<Name>) => void = () => {},
  ): Promise<ResultOf<Name>> {
    const item = { name, args, isAwaited, isAlone, timeout, bytes };
    return this.#write({ item, transfer }, (result) => {
      onWritten(result as ResultOf<Name>);
      return result as ResultOf<Name>;
    });
  }

  /** Records an event. `claimedOf` makes what the caller gets of a claimed one, at once and in the order of the writes. */
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
    this.add({ item: row }, callbacks);
    return { written: written.promise, claimed: claimed.promise };
  }

  /** Ends the claim on an event; resolves to whether it still held. */
  endClaim(sequence: Sequence): Promise<boolean> {
    return this.#write({ item: sequence }, (isHeld) => isHeld as boolean);
  }

  /** Resolves when everything that was committed before is on disk, and rejects when the disk refuses. */
  sync(): Promise<void> {
    return this.#write({ item: sync }, () => {});
  }

  /** Resolves when the disk can be written, as far as that is known without writing to it. */
  probe(): Promise<void> {
    return this.#write({ item: probe }, () => {});
  }

  #write<T>(write: Sendable, resultOf: (result: unknown) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.add(write, { onWritten: (result) => resolve(resultOf(result)), onFailed: reject });
    });
  }
}

/** The error of a failed write, made again: only its message and its code are sent from thread to thread. */
export function errorOf({ message, code }: WriteFailure): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
