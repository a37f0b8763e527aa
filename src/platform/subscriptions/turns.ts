/** Runs work under the same key one after the other, because it must not overlap. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work once all earlier work of this key has ended, whether it succeeded or failed. */
  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
