import {
  type WriteItem,
  type WriteMessage,
  bytesOf,
  isDelivery,
  isEvent,
  isOperation,
  unpacked,
} from './write-message.ts';
import { isOutside } from './operations.ts';

/**
 * A commit is bounded, so that the writes behind it don't wait too long, and the app's thread need not give too many
 * answers in one turn of its event loop. On a slow disk, where the sync is what takes long, the bound decides how many
 * events are taken a second; each is two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

/** A write that waits. */
export interface ReceivedWrite {
  readonly item: WriteItem;
  /** Which delivery it is, counted from 1; undefined for anything else, which is written however long that takes. */
  readonly number: number | undefined;
}

/** What has come to the writer thread and is yet to be written, in order. */
export class ReceivedWrites {
  #waiting: ReceivedWrite[] = [];
  #deliveries = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(message: WriteMessage): void {
    for (const item of unpacked(message)) this.#waiting.push({ item, number: this.#numberOf(item) });
  }

  /** Takes out what goes into the next commit. */
  nextGroup(): readonly ReceivedWrite[] {
    return this.#waiting.splice(0, groupSizeOf(this.#waiting));
  }

  /**
   * Frees the memory of a written group's bodies. Left to the garbage collector, bodies that were here during a minor
   * collection would stay until a full one, and the writer thread makes so little else that they would pile up
   * meanwhile.
   */
  free(group: readonly ReceivedWrite[]): void {
    const next = this.#waiting.find(({ item }) => isEvent(item));
    const needed = next && bufferOf(next.item);
    for (const buffer of new Set(group.map(({ item }) => bufferOf(item)))) {
      // The bodies of one message share one buffer, and the next group may have the rest of them.
      if (buffer !== needed) buffer?.transfer(0);
    }
  }

  #numberOf(item: WriteItem): number | undefined {
    if (!isDelivery(item)) return undefined;
    this.#deliveries += 1;
    return this.#deliveries;
  }
}

/** How many of the writes that wait go into the next commit. */
export function groupSizeOf(waiting: readonly { readonly item: WriteItem }[]): number {
  let bytes = 0;
  let count = 0;
  for (const { item } of waiting) {
    bytes += bytesOf(item);
    const isAlone = isOperation(item) && (item.isAlone || isOutside(item));
    if (count === groupWrites || (count > 0 && (isAlone || bytes > groupBytes))) break;
    count += 1;
    if (isAlone) break;
  }
  return count;
}

function bufferOf(item: WriteItem): ArrayBuffer | undefined {
  return isEvent(item) ? (item.body.buffer as ArrayBuffer) : undefined;
}
