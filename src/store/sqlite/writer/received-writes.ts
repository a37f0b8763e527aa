import {
  type WriteItem,
  type WriteMessage,
  bytesOf,
  isEvent,
  isOperation,
  isOutside,
  unpacked,
} from './write-message.ts';

/**
 * The bounds of a commit, so that later writes don't wait too long, and the app's thread doesn't give too many answers
 * in one turn of its event loop. On a disk with slow syncs, they limit how many events are recorded a second; each is
 * two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

/** The writes that have come to the writer thread and are still to be made, in order. */
export class ReceivedWrites {
  #waiting: WriteItem[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(message: WriteMessage): void {
    for (const item of unpacked(message)) this.#waiting.push(item);
  }

  /** Removes and returns the writes of the next commit. */
  nextGroup(): readonly WriteItem[] {
    return this.#waiting.splice(0, groupSizeOf(this.#waiting));
  }

  /** Removes and returns all of them. */
  all(): readonly WriteItem[] {
    return this.#waiting.splice(0);
  }

  /**
   * Frees the memory of a written group's bodies. Bodies that survive a minor garbage collection would stay until a
   * full one, which the writer thread, making few objects, hardly ever has.
   */
  free(writes: readonly WriteItem[]): void {
    const next = this.#waiting.find(isEvent);
    const needed = next && bufferOf(next);
    for (const buffer of new Set(writes.map(bufferOf))) {
      // The bodies of one message share one buffer, and the next group may have the rest of them.
      if (buffer !== needed) buffer?.transfer(0);
    }
  }
}

/** How many of the waiting writes go into the next commit. */
export function groupSizeOf(waiting: readonly WriteItem[]): number {
  let bytes = 0;
  let count = 0;
  for (const item of waiting) {
    bytes += bytesOf(item);
    const isAlone = isOutside(item) || (isOperation(item) && item.isAlone);
    if (count === groupWrites || (count > 0 && (isAlone || bytes > groupBytes))) break;
    count += 1;
    if (isAlone) break;
  }
  return count;
}

function bufferOf(item: WriteItem): ArrayBuffer | undefined {
  return isEvent(item) ? (item.body.buffer as ArrayBuffer) : undefined;
}
