import { isOutside } from './operations.ts';
import type { WriteResult } from './write-group.ts';
import {
  type WriteFailure,
  type WriteItem,
  type WriteMessage,
  type WriterData,
  type WrittenMessage,
  bytesOf,
  isAwaited,
  isEvent,
  isOperation,
  lastGivenUp,
  unpacked,
} from './write-message.ts';

/**
 * A commit is bounded, so that the writes after it don't wait too long, and the app's thread need not give too many
 * answers in one turn of its event loop. On a slow disk, where the sync is what takes long, the bound decides how many
 * events are taken a second; each is two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

export interface ReceivedWrite {
  readonly item: WriteItem;
  /** See `lastGivenUp`; undefined if nobody awaits it: then it is written however long that takes. */
  readonly number: number | undefined;
}

/** The writes of one commit. */
export interface ReceivedGroup {
  readonly writes: readonly ReceivedWrite[];
  /** How many bytes they carry. */
  readonly bytes: number;
}

/** What has come to the writer thread and is yet to be written, in order. */
export class ReceivedWrites {
  #waiting: ReceivedWrite[] = [];
  #awaited = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(message: WriteMessage): void {
    for (const item of unpacked(message)) this.#waiting.push({ item, number: this.#numberOf(item) });
  }

  /** Takes out what goes into the next commit. */
  nextGroup(): ReceivedGroup {
    const writes = this.#waiting.splice(0, groupSizeOf(this.#waiting));
    return { writes, bytes: writes.reduce((sum, { item }) => sum + bytesOf(item), 0) };
  }

  /**
   * Frees the memory of a written group's bodies. Left to the garbage collector, bodies that were here during a minor
   * collection would stay until a full one, and the writer thread makes so little else that they would pile up
   * meanwhile.
   */
  free(writes: readonly ReceivedWrite[]): void {
    const next = this.#waiting.find(({ item }) => isEvent(item));
    const needed = next && bufferOf(next.item);
    for (const buffer of new Set(writes.map(({ item }) => bufferOf(item)))) {
      // The bodies of one message share one buffer, and the next group may have the rest of them.
      if (buffer !== needed) buffer?.transfer(0);
    }
  }

  #numberOf(item: WriteItem): number | undefined {
    if (!isAwaited(item)) return undefined;
    this.#awaited += 1;
    return this.#awaited;
  }
}

const locked: WriteFailure = { message: 'database is locked', code: 'SQLITE_BUSY' };
const tooLate: WriteFailure = { message: 'the database did not take it in time', code: undefined };

/** The writes of one group, each of which is written, fails or is given up. */
export class GroupInProgress {
  readonly #results: unknown[];
  readonly #failures: [index: number, failure: WriteFailure][] = [];
  /** What is yet to be written, with its index in the group. */
  #open: readonly (ReceivedWrite & { readonly index: number })[];
  readonly #givenUp: WriterData['givenUp'];

  constructor(writes: readonly ReceivedWrite[], givenUp: WriterData['givenUp']) {
    this.#givenUp = givenUp;
    this.#results = writes.map(() => undefined);
    this.#open = writes.map((write, index) => ({ ...write, index }));
  }

  /** Returns what is yet to be written. What has been given up by now fails, and is left out. */
  remaining(): readonly WriteItem[] {
    const last = Number(Atomics.load(this.#givenUp, lastGivenUp));
    // An event that was answered with 503 is sent again, and should not be written at the expense of others.
    this.#giveUp(({ number = Infinity }) => number <= last, tooLate);
    return this.#open.map(({ item }) => item);
  }

  get isOver(): boolean {
    return this.#open.length === 0;
  }

  /** Another process has had the database locked for so many milliseconds. Infinity gives everything up. */
  waitedForLock(milliseconds: number): void {
    this.#giveUp(
      ({ item }) =>
        (isOperation(item) ? item.timeout : Infinity) <= milliseconds || milliseconds === Infinity,
      locked,
    );
  }

  /** Takes what became of each write that was yet to be written. */
  take(written: readonly WriteResult[]): void {
    for (const [position, { index }] of this.#open.entries()) {
      const one = written[position];
      if (one && 'value' in one) this.#results[index] = one.value;
      else this.#failures.push([index, one?.failure ?? tooLate]);
    }
    this.#open = [];
  }

  /** Fails whatever is yet to be written. */
  fail(failure: WriteFailure): void {
    this.take(this.#open.map(() => ({ failure })));
  }

  /** What the app's thread is sent. */
  message(took: number | undefined): WrittenMessage {
    return { results: this.#results, failures: this.#failures, took };
  }

  #giveUp(isOver: (write: ReceivedWrite) => boolean, failure: WriteFailure): void {
    this.#open = this.#open.filter((write) => {
      const isGivenUp = isOver(write);
      if (isGivenUp) this.#failures.push([write.index, failure]);
      return !isGivenUp;
    });
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
