import { type WriteItem, type WriteMessage, isDelivery, unpacked } from './commit-message.ts';

/**
 * A commit is bounded, so that the writes behind it don't wait too long, and the main thread need not give too many
 * answers in one turn. On a slow disk, where the sync is what takes long, the bound decides how many events are taken
 * a second; each is two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

/** How many writes are committed together where events come one by one: an event, and the end of the one before it. */
export const fewWrites = 2;

/** A write that has come in. */
export interface Waiting {
  readonly item: WriteItem;
  /**
   * Which delivery it is, counted from 1. Settlements have no number, because what was handled is written however long
   * that takes.
   */
  readonly number: number | undefined;
}

/** What has come to the commit thread and is yet to be written, in order. */
export class Incoming {
  #waiting: Waiting[] = [];
  #events = 0;
  /** How many of those that wait are events. */
  #waitingEvents = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get hasEvents(): boolean {
    return this.#waitingEvents > 0;
  }

  /** Returns how many of them are events. */
  add(message: WriteMessage): number {
    const before = this.#events;
    for (const item of unpacked(message)) this.#waiting.push({ item, number: this.#numberOf(item) });
    return this.#events - before;
  }

  /** Takes out what goes into the next commit. */
  nextGroup(): readonly Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#waiting) {
      bytes += bytesOf(item);
      if (count === groupWrites || (count > 0 && bytes > groupBytes)) break;
      if (isDelivery(item)) this.#waitingEvents -= 1;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /**
   * Frees the memory of a written group's bodies. Left to the garbage collector, bodies that were here during a minor
   * collection would stay until a full one, and the commit thread makes so little else that they would pile up
   * meanwhile.
   */
  letGo(group: readonly Waiting[]): void {
    const next = this.#waiting.find(({ item }) => isDelivery(item));
    const kept = next && bufferOf(next.item);
    for (const buffer of new Set(group.map(({ item }) => bufferOf(item)))) {
      // The bodies of one message share one buffer, and the next group may have the rest of them.
      if (buffer !== kept) buffer?.transfer(0);
    }
  }

  #numberOf(item: WriteItem): number | undefined {
    if (!isDelivery(item)) return undefined;
    this.#events += 1;
    this.#waitingEvents += 1;
    return this.#events;
  }
}

/** The bytes of a write's body. */
export function bytesOf(item: WriteItem): number {
  return isDelivery(item) ? item.body.byteLength : 0;
}

function bufferOf(item: WriteItem): ArrayBuffer | undefined {
  return isDelivery(item) ? (item.body.buffer as ArrayBuffer) : undefined;
}
