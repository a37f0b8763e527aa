import { type WriteItem, type WriteResult, type WrittenMessage, failed } from './commit-message.ts';
import { type Waiting, bytesOf } from './incoming.ts';

/** What becomes of the writes of a group: each is written, fails or is given up. */
export class GroupResult {
  /** What has no result yet counts as failed. */
  readonly #results: WriteResult[];
  readonly #failures: [place: number, message: string][] = [];
  /** What is yet to be written, with its place in the group. */
  #open: readonly (Waiting & { readonly place: number })[];

  readonly #lastGivenUp: () => number;

  /** `lastGivenUp`: the number of the last event that its sender no longer waits for. */
  constructor(group: readonly Waiting[], lastGivenUp: () => number) {
    this.#lastGivenUp = lastGivenUp;
    this.#results = group.map(() => failed);
    this.#open = group.map(({ item, number }, place) => ({ item, number, place }));
  }

  /** What is yet to be written, without what has been given up by now. */
  readonly wanted = (): readonly WriteItem[] => {
    this.giveUpTo(this.#lastGivenUp());
    return this.#open.map(({ item }) => item);
  };

  /** How many are yet to be written. */
  get count(): number {
    return this.#open.length;
  }

  /** What the main thread is told. */
  told(took: number): WrittenMessage {
    return { results: this.#results, failures: this.#failures, took };
  }

  /** The bytes of the bodies that are yet to be written. */
  get bytes(): number {
    return this.#open.reduce((sum, { item }) => sum + bytesOf(item), 0);
  }

  /**
   * Gives up the events up to this number. An event that was answered with 503 is sent again, and must not be a
   * duplicate of one that was never acknowledged.
   */
  giveUpTo(last: number): void {
    this.#open = this.#open.filter(({ place, number = Infinity }) => {
      if (number > last) return true;
      this.#failures.push([place, 'the database did not take it in time']);
      return false;
    });
  }

  /** Takes what became of each of `wanted`: a result for the main thread, or the reason of a failure. */
  take(written: readonly (WriteResult | string)[]): void {
    for (const [index, { place }] of this.#open.entries()) {
      const result = written[index];
      if (typeof result === 'string' || result === undefined) this.#failures.push([place, result ?? '']);
      else this.#results[place] = result;
    }
  }
}
