/**
 * An amount of memory in which each of several holders has an equal share. A holder may exceed its share until the
 * whole is used up; from then on it gets nothing more, so that one that gives nothing back leaves room for the others.
 */
export class SharedBytes {
  readonly total: number;
  /** How many bytes all holders have taken. */
  used = 0;
  /** How many bytes are the share of each holder. */
  share: number;
  #holders = 0;

  constructor(total: number) {
    this.total = total;
    this.share = total;
  }

  /** Adds a holder. */
  holder(): ShareOfBytes {
    this.#holders += 1;
    this.share = Math.floor(this.total / this.#holders);
    return new ShareOfBytes(this);
  }
}

/** One holder's part of shared bytes. */
export class ShareOfBytes {
  readonly #of: SharedBytes;
  #own = 0;

  /** @internal */
  constructor(of: SharedBytes) {
    this.#of = of;
  }

  /** Counts bytes as taken, or as given back if the number is negative. */
  take(bytes: number): void {
    this.#own += bytes;
    this.#of.used += bytes;
  }

  /** Whether it gets no more. With `part`, only that part of the whole and of the share counts. */
  isUsedUp(part = 1): boolean {
    const { used, total, share } = this.#of;
    return used > total * part && this.#own > share * part;
  }

  /** How many bytes it may take. */
  get free(): number {
    const { used, total, share } = this.#of;
    return Math.max(0, total - used, share - this.#own);
  }
}
