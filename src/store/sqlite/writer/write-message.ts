/** The writes of a process: as they wait, as they are sent to the writer thread, and how they are answered. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../../event-record.ts';
import type { FileIds } from '../connection/database-files.ts';
import type { Part } from '../connection/statements.ts';
import type { EventRow } from '../work/record.ts';
import type { Recorded } from '../../shared/found-work.ts';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';
import type { LockedWork } from './write-lock.ts';

/** What the writer thread needs to start. */
export interface WriterData {
  readonly file: string;
  readonly files: FileIds;
  /** The memory of `BorrowedLock`. */
  readonly lock: Int32Array<SharedArrayBuffer>;
  readonly port: MessagePort;
}

/** Writes that share a commit, by kind: in this order they take effect, and are answered. */
export interface Writes {
  readonly events: readonly EventRow[];
  /** The claims on events that end. */
  readonly ends: readonly ClaimOnEvent[];
  readonly operations: readonly Operation[];
}

/** Calls a method of a part of the statements. */
export interface Operation {
  readonly part: Part;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Writes that are sent together: at most as many as go into one commit. */
export interface WriteMessage extends Pick<Writes, 'operations'> {
  /** As lists of values, like the next, because property names would be copied for each event. */
  readonly events: readonly (readonly unknown[])[];
  readonly ends: readonly (readonly [sequence: Sequence, process: number])[];
  /** The bodies of the events, one after the other: transferred, not copied. */
  readonly bodies: ArrayBuffer;
  /** How many writes there are. */
  readonly count: number;
  /** How many bytes they carry. */
  readonly bytes: number;
  /** Whether they get a transaction of their own. */
  readonly isAlone: boolean;
}

/** `grant`: the app's thread waits for the write lock. */
export type ToWriter = WriteMessage | 'grant' | 'close';

export type FromWriter = WrittenMessage | ReplacedMessage | 'ready' | 'answered';

/** The outcomes of the first writes of each kind that have not been answered yet. */
export interface WrittenMessage {
  /** How many writes of each kind were made. */
  readonly made: Readonly<Record<keyof Writes, number>>;
  /** A `Recorded` for an event, whether it still held for the end of a claim, what it returned for an operation. */
  readonly results: readonly unknown[];
  /** The writes that failed, by their index in `results`. */
  readonly failures: readonly (readonly [index: number, failure: WriteFailure])[];
  /** How long the commit took, in milliseconds; undefined if it changed nothing, which takes no time on any disk. */
  readonly took: number | undefined;
}

/** Why a write has failed. `code` is the driver's. */
export interface WriteFailure {
  readonly message: string;
  readonly code: string | undefined;
}

/** The database or its WAL was moved, deleted or replaced: nothing can be written any more. */
interface ReplacedMessage {
  /** What was found, as the end of a sentence. */
  readonly replaced: string;
}

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
  addEvent(write: PendingWrite<EventRow, Recorded>): void;
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
  readonly events: PendingWrite<EventRow, Recorded>[];
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

/** The writes of a batch, in the order in which they are answered. */
export function writesOf({ events, ends, operations }: Batch): AnyWrite[] {
  return [...events, ...ends, ...operations];
}

/** What became of writes. */
export type Outcomes = Pick<WrittenMessage, 'results' | 'failures'>;

/** Packs writes, and their bodies into one buffer: sent singly, each would be cloned with all of its shared buffer. */
export function packed({ events, ends, operations, count, bytes, isAlone }: Batch): WriteMessage {
  let size = 0;
  for (const { item } of events) size += item.body.byteLength;
  const bodies = new Uint8Array(size);
  const values: unknown[][] = [];
  let offset = 0;
  for (const { item } of events) {
    values.push(valuesOf(item));
    bodies.set(item.body, offset);
    offset += item.body.byteLength;
  }
  return {
    events: values,
    ends: ends.map(({ item }) => [item.sequence, item.process]),
    operations: operations.map(({ item }) => item),
    bodies: bodies.buffer,
    count,
    bytes,
    isAlone,
  };
}

/** The writes of messages that share a commit. */
export function unpacked(messages: readonly WriteMessage[]): Writes {
  const writes = { events: [] as EventRow[], ends: [] as ClaimOnEvent[], operations: [] as Operation[] };
  for (const { events, bodies, ends, operations } of messages) {
    let offset = 0;
    for (const values of events) {
      const row = rowOf(values, bodies, offset);
      writes.events.push(row);
      offset += row.body.byteLength;
    }
    for (const [sequence, process] of ends) writes.ends.push({ sequence, process });
    writes.operations.push(...operations);
  }
  return writes;
}

function valuesOf(row: EventRow): unknown[] {
  const { traceId, identity, lookup, source, eventName, callId, organizationId, agentId } = row;
  const { occurredAt, receivedAt, headers, facts, body, mayClaim } = row;
  const ids = [traceId, identity, lookup, source, eventName, callId, organizationId, agentId];
  return [...ids, occurredAt, receivedAt, headers, facts, body.byteLength, mayClaim];
}

function rowOf(values: readonly unknown[], bodies: ArrayBuffer, offset: number): EventRow {
  const [traceId, identity, lookup, source, eventName, callId, organizationId, agentId, ...others] = values;
  const [occurredAt, receivedAt, headers, facts, length, mayClaim] = others;
  const body = new Uint8Array(bodies, offset, length as number);
  const ids = { traceId, identity, lookup, source, eventName, callId, organizationId, agentId };
  return { ...ids, occurredAt, receivedAt, headers, facts, body, mayClaim } as EventRow;
}

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
