/** The messages between the app's thread and the writer thread. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../../event-record.ts';
import type { FileIds } from '../connection/database-files.ts';
import type { Part } from '../connection/statements.ts';
import type { EventRow } from '../work/record.ts';

/** What the writer thread needs to start. */
export interface WriterData {
  readonly file: string;
  readonly files: FileIds;
  /** The id under which the process has entered; 0 before that. */
  readonly id: number;
  /** The memory of `BorrowedLock`. */
  readonly lock: Int32Array<SharedArrayBuffer>;
  readonly port: MessagePort;
}

/** A write: an event, the sequence of an event whose claim ends, or any other operation. */
export type WriteItem = EventRow | Sequence | OperationItem;

/** Calls a method of a part of the statements. */
export interface OperationItem {
  readonly part: Part;
  readonly method: string;
  readonly args: readonly unknown[];
  /** Whether it gets a transaction of its own, because it may take long. */
  readonly isAlone: boolean;
  /** How many bytes it carries. */
  readonly bytes: number;
}

/**
 * Writes that are sent together. Events are sent as lists of values, because property names would be copied for each.
 */
export interface WriteMessage {
  readonly writes: readonly ('event' | Exclude<WriteItem, EventRow>)[];
  readonly values: readonly unknown[];
  /** The bodies of the events, one after the other: transferred, not copied. */
  readonly bodies: ArrayBuffer;
}

/** `grant`: the app's thread waits for the write lock. */
export type ToWriter = WriteMessage | 'grant' | 'close';

export type FromWriter = WrittenMessage | ReplacedMessage | 'ready' | 'answered';

/** The outcomes of the first writes that have not been answered yet, in the order in which they were sent. */
export interface WrittenMessage {
  /** A `RecordedRow` for an event, whether it still held for the end of a claim, what it returned for an operation. */
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
export interface ReplacedMessage {
  /** What was found, as the end of a sentence. */
  readonly replaced: string;
}

/** Packs writes, and their bodies into one buffer: sent singly, each would be cloned with all of its shared buffer. */
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

/**
 * Frees the memory of the bodies of writes that were made, `waiting` being the next ones. Bodies that survive a minor
 * garbage collection would stay until a full one, which the writer thread, making few objects, hardly ever has.
 */
export function freeBodies(writes: readonly WriteItem[], waiting: readonly WriteItem[]): void {
  const next = waiting.find(isEvent);
  const needed = next && bufferOf(next);
  for (const buffer of new Set(writes.map(bufferOf))) {
    // The bodies of one message share one buffer, and the next writes may have the rest of them.
    if (buffer !== needed) buffer?.transfer(0);
  }
}

function bufferOf(item: WriteItem): ArrayBuffer | undefined {
  return isEvent(item) ? (item.body.buffer as ArrayBuffer) : undefined;
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

export function isEndOfClaim(item: WriteItem): item is Sequence {
  return typeof item === 'number';
}

export function isOperation(item: WriteItem): item is OperationItem {
  return typeof item === 'object' && 'part' in item;
}

/** Whether a write runs by itself, outside of any transaction. */
export function isOutside(item: WriteItem): boolean {
  return isOperation(item) && item.part === 'scrubbing';
}

/** How many bytes a write carries. */
export function bytesOf(item: WriteItem): number {
  if (isEvent(item)) return item.body.byteLength;
  return isOperation(item) ? item.bytes : 0;
}
