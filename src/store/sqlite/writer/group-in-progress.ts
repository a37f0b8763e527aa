import type { WriteResult } from './write-group.ts';
import type { ReceivedWrite } from './received-writes.ts';
import {
  type WriteFailure,
  type WriteItem,
  type WrittenMessage,
  bytesOf,
  isOperation,
} from './write-message.ts';

const tooLate: WriteFailure = { message: 'the database did not take it in time', code: undefined };

/** The writes of one group, each of which is written, fails or is given up. */
export class GroupInProgress {
  readonly #results: unknown[];
  readonly #failures: [index: number, failure: WriteFailure][] = [];
  /** What is yet to be written, with its index in the group. */
  #open: readonly (ReceivedWrite & { readonly index: number })[];
  readonly #lastGivenUp: () => number;

  /** `lastGivenUp`: the number of the last delivery that its sender no longer waits for. */
  constructor(group: readonly ReceivedWrite[], lastGivenUp: () => number) {
    this.#lastGivenUp = lastGivenUp;
    this.#results = group.map(() => undefined);
    this.#open = group.map((write, index) => ({ ...write, index }));
  }

  /** What is yet to be written, without what has been given up by now. */
  readonly wanted = (): readonly WriteItem[] => {
    const last = this.#lastGivenUp();
    // An event that was answered with 503 is sent again, and should not be written at the expense of others.
    this.#giveUp(({ number = Infinity }) => number <= last);
    return this.#open.map(({ item }) => item);
  };

  get isOver(): boolean {
    return this.#open.length === 0;
  }

  /** How many are yet to be written, and how many bytes they carry. */
  get size(): { readonly count: number; readonly bytes: number } {
    return { count: this.#open.length, bytes: this.#open.reduce((sum, { item }) => sum + bytesOf(item), 0) };
  }

  /** Another process has had the database locked for so many milliseconds. Infinity gives everything up. */
  waitedForLock(milliseconds: number): void {
    this.#giveUp(
      ({ item }) =>
        (isOperation(item) ? item.timeout : Infinity) <= milliseconds || milliseconds === Infinity,
    );
  }

  /** Takes what became of each of `wanted`. */
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

  #giveUp(isOver: (write: ReceivedWrite) => boolean): void {
    this.#open = this.#open.filter((write) => {
      const isGivenUp = isOver(write);
      if (isGivenUp) this.#failures.push([write.index, tooLate]);
      return !isGivenUp;
    });
  }
}
