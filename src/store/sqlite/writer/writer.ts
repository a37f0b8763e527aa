import type { Sequence } from '../../run-key.ts';
import type { EventRow, RecordedRow } from '../work/record.ts';
import type { OperationName, Operations } from './operations.ts';
import type { Failure } from './write-message.ts';

/** How long a delivery waits for its commit, in milliseconds: the platform gives up after 1,000. */
export const recordTimeout = 700;

/** What a caller can specify for a write. */
export interface WriteLimits {
  /** Whether its sender gives up on it after `recordTimeout`. Default false. */
  readonly isDelivery?: boolean;
  /** How many bytes it carries, so that the memory of all writes stays bounded. Default 0. */
  readonly bytes?: number;
  /** Buffers in its arguments that are handed over to the writer's thread instead of being copied. Default none. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Gives the write a transaction of its own, because it may take long. Default false. */
  readonly isAlone?: boolean;
  /** How long it may wait for another process that has locked the database, in milliseconds. Default without end. */
  readonly timeout?: number;
}

/** What an operation returns. */
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/**
 * Makes every write of this process to the inbox. Writes are made in the order in which they are requested, many of them
 * in one commit, and each resolves when it is on disk.
 */
export interface Writer {
  /** Runs an operation. `onWritten` is called before anything else goes on, in the order of the writes. */
  run<Name extends OperationName>(
    name: Name,
    args: Parameters<Operations[Name]>,
    limits?: WriteLimits,
    onWritten?: (result: ResultOf<Name>) => void,
  ): Promise<ResultOf<Name>>;
  /** Records an event. `onRecorded` is called even if the promise was rejected before, because the write took too long. */
  record(row: EventRow, onRecorded: (recorded: RecordedRow) => void): Promise<RecordedRow>;
  /** Ends the claim on an event; resolves to whether it still held. */
  endClaim(sequence: Sequence): Promise<boolean>;
  /** Resolves when everything that was committed before is on disk, and rejects when the disk refuses. */
  sync(): Promise<void>;

  /** Runs `work` on this thread as soon as nothing else in this process writes. */
  borrowLock(work: () => void): void;
  /** The same at once; blocks until then. */
  borrowLockNow<T>(work: () => T): T;

  /** Whether an event that came now would have to wait for longer than its sender does. */
  readonly isOverloaded: boolean;
  /** Resolves when it can write. */
  ready(): Promise<void>;
  /** From now on, writes that would have to wait for another process fail. */
  abandon(): void;
  /** Writes what is left, and ends. */
  close(): Promise<void>;
}

/** The error of a failed write, as the driver has thrown it elsewhere. */
export function errorOf({ message, code }: Failure): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
