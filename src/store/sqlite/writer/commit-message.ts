/** What the main thread and the commit thread say to each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../../run-key.ts';
import type { FileIds } from '../connection/database-files.ts';
import type { Kept, QuarantineRow } from '../admin/keep-delivery.ts';
import type { EventRow, RecordedRow } from '../work/record.ts';
import type { SettlementRow } from '../work/settle.ts';
import type { turnMessage } from './turn.ts';

/** What the commit thread needs to begin. */
export interface CommitThreadData {
  readonly file: string;
  readonly files: FileIds;
  /** The id, in the table `processes`, under which it claims. */
  readonly process: number;
  readonly identity: string;
  readonly turn: Int32Array<SharedArrayBuffer>;
  /**
   * What nobody waits for any more. The first number means all events up to this one, counted from 1 in the order in
   * which they were sent. The second, if it is not zero, means everything that would have to wait for a lock.
   */
  readonly givenUp: BigInt64Array<SharedArrayBuffer>;
  readonly port: MessagePort;
}

/**
/**
 * A write: an event, a delivery for the quarantine, a settlement, the sequence of an event whose claim ends and leaves
 * nothing else to write, or the question whether the database can be written.
 */
export type WriteItem = Delivery | SettlementRow | Sequence | typeof probe;

/** What a sender waits for, and has a body. */
type Delivery = EventRow | QuarantineRow;

/** Takes the way of every write. It leaves the disk alone unless the disk has refused the last write. */
export const probe = 'probe';

/**
 * Writes that are sent together. Of events only the values are sent, one behind the other, because the property names
 * would be copied each time.
 */
export interface WriteMessage {
  readonly writes: readonly ('event' | QuarantineRowWithoutBody | Exclude<WriteItem, Delivery>)[];
  readonly values: readonly unknown[];
  /** The bodies of the deliveries, one behind the other: handed over, not copied. */
  readonly bodies: ArrayBuffer;
}

interface QuarantineRowWithoutBody extends Omit<QuarantineRow, 'body'> {
  readonly length: number;
}

/** What the commit thread is told. */
export type ToCommitThread = WriteMessage | SyncMessage | 'close';

/** What the commit thread says. */
export type FromCommitThread =
  | WrittenMessage
  | SyncedMessage
  | ReplacedMessage
  | typeof turnMessage
  | typeof readyMessage;

/** Asks for a sync of what the main thread has written so far. */
export interface SyncMessage {
  /** Counted from 1. */
  readonly sync: number;
}

/** Everything that was written before this request is on disk, unless there is a failure. */
export interface SyncedMessage {
  readonly synced: number;
  readonly failure?: string;
}

/** The database or its WAL has been deleted or replaced: no write counts any more. */
export interface ReplacedMessage {
  /** What was found, as the end of a sentence. */
  readonly replaced: string;
}

/** The commit thread has its connection. */
export const readyMessage = 'ready';

/** What became of the writes, in the order in which they were sent. */
export interface WrittenMessage {
  readonly results: readonly WriteResult[];
  /** The reasons of those that failed, by their place in `results`. */
  readonly failures: readonly (readonly [place: number, message: string])[];
  /** How long their commit took, in milliseconds. */
  readonly took: number;
}

/** What became of a write: of an event see `codeOf`, of a delivery for the quarantine where it is kept. */
export type WriteResult = number | Kept;

/** A failed write. */
export const failed = Number.NaN;
export const settled = 1;
export const lost = 0;

/** What became of an event as one number: the sequence, negative when it isn't claimed, zero for a duplicate. */
export function codeOf({ sequence = 0, isClaimed }: RecordedRow): number {
  return isClaimed ? sequence : -sequence;
}

/** The opposite of `codeOf`. */
export function recordedOf(code: number): RecordedRow {
  return { sequence: code === 0 ? undefined : Math.abs(code), isClaimed: code > 0 };
}

/**
 * Whether a write has changed the database: one that failed, a duplicate and a lost settlement have not. A commit without
 * any change is not synced, so it doesn't answer for what was written before it.
 */
export function hasChanged(result: WriteResult | string): boolean {
  if (typeof result === 'object') return result.isNew;
  return typeof result === 'number' && Math.abs(result) > 0;
}

/** Packs writes. A body that is sent by itself would be cloned with everything that shares its memory. */
export function packed(items: readonly WriteItem[]): WriteMessage {
  const values: unknown[] = [];
  const writes: WriteMessage['writes'][number][] = [];
  let size = 0;
  for (const item of items) if (isDelivery(item)) size += item.body.byteLength;
  const bodies = new Uint8Array(size);
  let offset = 0;
  for (const item of items) {
    if (!isDelivery(item)) {
      writes.push(item);
      continue;
    }
    if (isEvent(item)) {
      writes.push('event');
      pushValues(values, item);
    } else {
      const { body, ...row } = item;
      writes.push({ ...row, length: body.byteLength });
    }
    bodies.set(item.body, offset);
    offset += item.body.byteLength;
  }
  return { writes, values, bodies: bodies.buffer };
}

/** The opposite of `packed`. */
export function unpacked({ writes, values, bodies }: WriteMessage): WriteItem[] {
  let place = 0;
  let offset = 0;
  return writes.map((write) => {
    if (typeof write === 'object' && 'length' in write) {
      const { length, ...row } = write;
      const body = new Uint8Array(bodies, offset, length);
      offset += length;
      return { ...row, body };
    }
    if (write !== 'event') return write;
    const row = rowOf(values.slice(place, place + valuesOfEvent), bodies, offset);
    place += valuesOfEvent;
    offset += row.body.byteLength;
    return row;
  });
}

const valuesOfEvent = 13;

function pushValues(values: unknown[], row: EventRow): void {
  const { traceId, identities, lookup, eventName, callId, organizationId, agentId } = row;
  values.push(
    traceId,
    identities,
    lookup,
    eventName,
    callId,
    organizationId,
    agentId,
    row.occurredAt,
    row.receivedAt,
  );
  values.push(row.headers, row.facts, row.body.byteLength, row.isWanted);
}

function rowOf(values: readonly unknown[], bodies: ArrayBuffer, offset: number): EventRow {
  const [traceId, identities, lookup, eventName, callId, organizationId, agentId, ...others] = values;
  const [occurredAt, receivedAt, headers, facts, length, isWanted] = others;
  const body = new Uint8Array(bodies, offset, length as number);
  const ids = { traceId, identities, lookup, eventName, callId, organizationId, agentId };
  return { ...ids, occurredAt, receivedAt, headers, facts, body, isWanted } as EventRow;
}

/** Whether a write is that of an event. */
export function isEvent(item: WriteItem): item is EventRow {
  return typeof item === 'object' && 'identities' in item;
}

/** Whether a write is that of a delivery, in the inbox or in quarantine. */
export function isDelivery(item: WriteItem): item is Delivery {
  return typeof item === 'object' && 'body' in item;
}
