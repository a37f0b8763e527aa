/** The messages between the app's thread and the writer thread. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../../event-record.ts';
import type { FileIds } from '../connection/database-files.ts';
import type { Part } from '../connection/statements.ts';
import type { EventRow } from '../work/record.ts';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';

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

type Items<Item> = readonly { readonly item: Item }[];

/** Writes that wait to be sent together. */
interface Unsent extends Pick<WriteMessage, 'count' | 'bytes' | 'isAlone'> {
  readonly events: Items<EventRow>;
  readonly ends: Items<ClaimOnEvent>;
  readonly operations: Items<Operation>;
}

/** Packs writes, and their bodies into one buffer: sent singly, each would be cloned with all of its shared buffer. */
export function packed({ events, ends, operations, count, bytes, isAlone }: Unsent): WriteMessage {
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
