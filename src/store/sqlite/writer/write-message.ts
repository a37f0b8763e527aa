/** What the app's thread and the writer thread send each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../../event-record.ts';
import type { FileIds } from '../connection/database-files.ts';
import type { OwnProcess } from '../work/processes.ts';
import type { EventRow } from '../work/record.ts';
import type { Operation } from './operations.ts';

/** What the writer thread needs to begin. */
export interface WriterData {
  readonly file: string;
  readonly files: FileIds;
  readonly process: OwnProcess;
  /** The id under which the process has entered; 0 before that. */
  readonly id: number;
  /** Who may write: see `WriteLock`. */
  readonly lock: Int32Array<SharedArrayBuffer>;
  /** What nobody waits for any more: see `lastGivenUp` and `abandoned`. */
  readonly givenUp: BigInt64Array<SharedArrayBuffer>;
  readonly port: MessagePort;
}

/**
 * The index in `givenUp` of the number of the last awaited write that was given up. Each thread numbers the awaited writes by
 * itself, from 1 in the order in which they are sent, so that no number has to be sent along: `WriteQueue.add` and
 * `ReceivedWrites.add` must count the same writes.
 */
export const lastGivenUp = 0;
/** The index of what is not zero once everything is given up that would have to wait for another process. */
export const abandoned = 1;

/** What is to be written: an event, the sequence of an event whose claim ends, or any other operation. */
export type WriteItem = EventRow | Sequence | OperationItem | typeof sync | typeof probe;

/** Asks for everything that was committed before to be on disk. */
export const sync = 'sync';

/** Asks whether the database can be written. It leaves the disk alone unless the disk has refused the last write. */
export const probe = 'probe';

export interface OperationItem extends Operation {
  /** Whether a delivery is answered after it, with 503 if it takes too long. */
  readonly isAwaited: boolean;
  /** Whether it has a transaction of its own, because it may take long. */
  readonly isAlone: boolean;
  /** How long it may wait for another process that has locked the database, in milliseconds. */
  readonly timeout: number;
  /** How many bytes it carries. */
  readonly bytes: number;
}

/**
 * Writes that are sent together. Of events only the values are sent, one after the other, because the property names
 * would be copied each time.
 */
export interface WriteMessage {
  readonly writes: readonly ('event' | Exclude<WriteItem, EventRow>)[];
  readonly values: readonly unknown[];
  /** The bodies of the events, one after the other: transferred, not copied. */
  readonly bodies: ArrayBuffer;
}

/** What the writer thread is sent. `lend`: the app's thread waits for the write lock. */
export type ToWriter = WriteMessage | 'lend' | 'close';

/** What the writer thread sends. */
export type FromWriter = WrittenMessage | ReplacedMessage | 'ready' | 'lent';

/** What became of the writes, in the order in which they were sent. */
export interface WrittenMessage {
  /** Of an event a `RecordedRow`; of the end of a claim whether it still held; of an operation what it returned. */
  readonly results: readonly unknown[];
  /** Those that failed, by their index in `results`. */
  readonly failures: readonly (readonly [index: number, failure: WriteFailure])[];
  /** How long the commit took, in milliseconds; undefined if it changed nothing, which takes no time on any disk. */
  readonly took: number | undefined;
}

/** Why a write has failed. `code` is the driver's. */
export interface WriteFailure {
  readonly message: string;
  readonly code: string | undefined;
}

/** The database or its WAL has been deleted or replaced: no write counts any more. */
export interface ReplacedMessage {
  /** What was found, as the end of a sentence. */
  readonly replaced: string;
}

/** Packs writes. A body that is sent by itself would be cloned with everything that shares its memory. */
export function packed(items: readonly WriteItem[]): WriteMessage {
  const events = items.filter(isEvent);
  const bodies = new Uint8Array(events.reduce((size, { body }) => size + body.byteLength, 0));
  let offset = 0;
  for (const { body } of events) {
    bodies.set(body, offset);
    offset += body.byteLength;
  }
  return {
    writes: items.map((item) => (isEvent(item) ? 'event' : item)),
    values: events.flatMap(valuesOf),
    bodies: bodies.buffer,
  };
}

/** The opposite of `packed`. */
export function unpacked({ writes, values, bodies }: WriteMessage): WriteItem[] {
  let index = 0;
  let offset = 0;
  return writes.map((write) => {
    if (write !== 'event') return write;
    const row = rowOf(values.slice(index, index + valuesOfEvent), bodies, offset);
    index += valuesOfEvent;
    offset += row.body.byteLength;
    return row;
  });
}

const valuesOfEvent = 14;

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

export function isEvent(item: WriteItem): item is EventRow {
  return typeof item === 'object' && 'identity' in item;
}

/** Whether a write ends the claim on an event. */
export function isEndOfClaim(item: WriteItem): item is Sequence {
  return typeof item === 'number';
}

export function isOperation(item: WriteItem): item is OperationItem {
  return typeof item === 'object' && 'name' in item;
}

/** Whether a delivery is answered after a write, with 503 if it takes too long. */
export function isAwaited(item: WriteItem): boolean {
  return isEvent(item) || (isOperation(item) && item.isAwaited);
}

/** How many bytes a write carries. */
export function bytesOf(item: WriteItem): number {
  if (isEvent(item)) return item.body.byteLength;
  return isOperation(item) ? item.bytes : 0;
}
