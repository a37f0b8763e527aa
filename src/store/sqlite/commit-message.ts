/** What the main thread and the commit thread say to each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Sequence } from '../run-key.ts';
import type { EventRow, RecordedRow } from './record.ts';
import type { SettlementRow } from './settle.ts';
import type { turnMessage } from './turn.ts';

/** What the commit thread needs to begin. */
export interface CommitThreadData {
  readonly file: string;
  /** Under whose id it claims. */
  readonly process: number;
  readonly identity: string;
  readonly turn: Int32Array<SharedArrayBuffer>;
  /** Up to which event, counted from 1 in the order in which they were sent, nobody waits any more. */
  readonly givenUp: BigInt64Array<SharedArrayBuffer>;
  readonly port: MessagePort;
}

/** A write: an event, a settlement, or the sequence of an event whose claim ends and leaves nothing else to write. */
export type WriteItem = EventRow | SettlementRow | Sequence;

/** Writes of one turn of the event loop. */
export interface WriteMessage {
  /** The bodies of the events are empty here: they are in `bodies`, one behind the other. */
  readonly items: readonly WriteItem[];
  /** How long each body is, for events in their order. */
  readonly lengths: readonly number[];
  /** Handed over, not copied. */
  readonly bodies: ArrayBuffer;
}

/** What the commit thread is told. */
export type ToCommitThread = WriteMessage | 'close';

/** What the commit thread says. */
export type FromCommitThread = WrittenMessage | typeof turnMessage | typeof readyMessage;

/** The commit thread has its connection. */
export const readyMessage = 'ready';

/** What became of the writes, in the order in which they were sent. */
export interface WrittenMessage {
  /** See `codeOf`. */
  readonly results: readonly number[];
  /** The reasons of those that failed, by their place in `results`. */
  readonly failures: readonly (readonly [place: number, message: string])[];
}

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

const nothing = new Uint8Array();

/** Packs writes; a body of its own would be cloned with everything that shares its memory. */
export function packed(items: readonly WriteItem[]): WriteMessage {
  const lengths: number[] = [];
  let size = 0;
  for (const item of items) {
    if (!isEvent(item)) continue;
    lengths.push(item.body.byteLength);
    size += item.body.byteLength;
  }
  const bodies = new Uint8Array(size);
  let offset = 0;
  const bare = items.map((item) => {
    if (!isEvent(item)) return item;
    bodies.set(item.body, offset);
    offset += item.body.byteLength;
    return { ...item, body: nothing };
  });
  return { items: bare, lengths, bodies: bodies.buffer };
}

/** The opposite of `packed`. */
export function unpacked({ items, lengths, bodies }: WriteMessage): WriteItem[] {
  let offset = 0;
  let event = 0;
  return items.map((item) => {
    if (!isEvent(item)) return item;
    const length = lengths[event] ?? 0;
    const body = new Uint8Array(bodies, offset, length);
    event += 1;
    offset += length;
    return { ...item, body };
  });
}

/** Whether a write is that of an event. */
export function isEvent(item: WriteItem): item is EventRow {
  return typeof item === 'object' && 'identities' in item;
}
