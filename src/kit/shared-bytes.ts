/**
 * So many bytes of memory, in which each of several holders has an equal share. Nothing more is given to one that has more than
 * its share once all of it is used up: one that gives nothing back leaves room to the others, and may use theirs until they
 * need it.
 */
export class SharedBytes {
  readonly #total: number;
  readonly #share: number;
  #used = 0;

  constructor(total: number, holders: number) {
    this.#total = total;
    this.#share = Math.floor(total / holders);
  }

  /** So many bytes were taken, or given back if the number is below zero. */
  take(bytes: number): void {
    this.#used += bytes;
  }

  /** Whether a holder of `own` bytes gets no more. `part`: of all that there is, and of its share. */
  isUsedUp(own: number, part = 1): boolean {
    return this.#used > this.#total * part && own > this.#share * part;
  }

  /** How many bytes a holder of `own` bytes may take. */
  freeFor(own: number): number {
    return Math.max(0, this.#total - this.#used, this.#share - own);
  }
}
