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
  isOutside,
  lastGivenUp,
  unpacked,
} from './write-message.ts';

/**
 * The bounds of a commit, so that later writes don't wait too long, and the app's thread doesn't give too many answers
 * in one turn of its event loop. On a disk with slow syncs, they limit how many events are recorded a second; each is
 * two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

export interface ReceivedWrite {
  readonly item: WriteItem;
  /** See `lastGivenUp`; undefined if nobody awaits the write, which is then made however long that takes. */
  readonly number: number | undefined;
}

/** The writes of one commit. */
export interface ReceivedGroup {
  readonly writes: readonly ReceivedWrite[];
  /** How many bytes they carry. */
  readonly bytes: number;
}

/** The writes that have come to the writer thread and are still to be made, in order. */
export class ReceivedWrites {
  #waiting: ReceivedWrite[] = [];
  #awaited = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(message: WriteMessage): void {
    for (const item of unpacked(message)) this.#waiting.push({ item, number: this.#numberOf(item) });
  }

  /** Removes and returns the writes of the next commit. */
  nextGroup(): ReceivedGroup {
    const writes = this.#waiting.splice(0, groupSizeOf(this.#waiting));
    return { writes, bytes: writes.reduce((sum, { item }) => sum + bytesOf(item), 0) };
  }

  /**
   * Frees the memory of a written group's bodies. Bodies that survive a minor garbage collection would stay until a
   * full one, which the writer thread, making few objects, hardly ever has.
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

/** The writes of one group while they are made. */
export class GroupInProgress {
  readonly #results: unknown[];
  readonly #failures: [index: number, failure: WriteFailure][] = [];
  /** The writes still to be made, with their indices in the group. */
  #open: readonly (ReceivedWrite & { readonly index: number })[];
  readonly #givenUp: WriterData['givenUp'];

  constructor(writes: readonly ReceivedWrite[], givenUp: WriterData['givenUp']) {
    this.#givenUp = givenUp;
    this.#results = writes.map(() => undefined);
    this.#open = writes.map((write, index) => ({ ...write, index }));
  }

  /** Fails the writes that have been given up by now, and returns those still to be made. */
  remaining(): readonly WriteItem[] {
    const last = Number(Atomics.load(this.#givenUp, lastGivenUp));
    // An event that was answered with 503 will be sent again: it should not delay others.
    this.#giveUp(({ number = Infinity }) => number <= last, tooLate);
    return this.#open.map(({ item }) => item);
  }

  get isOver(): boolean {
    return this.#open.length === 0;
  }

  /** Gives up writes with a timeout that is over after waiting so long for another process; Infinity: all. */
  waitedForLock(milliseconds: number): void {
    this.#giveUp(
      ({ item }) =>
        (isOperation(item) ? item.timeout : Infinity) <= milliseconds || milliseconds === Infinity,
      locked,
    );
  }

  /** Takes the outcomes of the writes still to be made. */
  take(written: readonly WriteResult[]): void {
    for (const [position, { index }] of this.#open.entries()) {
      const one = written[position];
      if (one && 'value' in one) this.#results[index] = one.value;
      else this.#failures.push([index, one?.failure ?? tooLate]);
    }
    this.#open = [];
  }

  /** Fails the writes still to be made. */
  fail(failure: WriteFailure): void {
    this.take(this.#open.map(() => ({ failure })));
  }

  /** The message for the app's thread. */
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

/** How many of the waiting writes go into the next commit. */
export function groupSizeOf(waiting: readonly { readonly item: WriteItem }[]): number {
  let bytes = 0;
  let count = 0;
  for (const { item } of waiting) {
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
