/** Lets what must not overlap go one after the other, by key. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work once everything that took a turn of this key before has ended, however it ended. */
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
