/** Lets a bounded number of attempts be under way at once; the others wait in the order in which they came. */
export class ConcurrencyLimit {
  readonly #size: number;
  #taken = 0;
  /** A set, because removing the first item of a long array moves all the others. */
  readonly #waiting = new Set<() => Promise<void>>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Begins `work`, which never rejects, now or as soon as there is room. */
  run(work: () => Promise<void>): void {
    if (this.#taken < this.#size) void this.#begin(work);
    else this.#waiting.add(work);
  }

  /** Forgets the work that has not begun. */
  clear(): void {
    this.#waiting.clear();
  }

  async #begin(work: () => Promise<void>): Promise<void> {
    this.#taken += 1;
    await work();
    this.#taken -= 1;
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    void this.#begin(next);
  }
}
