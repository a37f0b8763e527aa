/**
 * So many bytes of memory, in which each of several holders has an equal share. Nothing more is given to one that has more than
 * its share once all of it is used up: one that gives nothing back leaves room to the others, and may use theirs until they
 * need it.
 */
export class SharedBytes {
  readonly total: number;
  /** How many bytes all holders have. */
  used = 0;
  #holders = 0;

  constructor(total: number) {
    this.total = total;
  }

  /** One more that has a share. */
  holder(): ShareOfBytes {
    this.#holders += 1;
    return new ShareOfBytes(this);
  }

  get share(): number {
    return Math.floor(this.total / this.#holders);
  }
}

/** What one holder has of shared bytes. */
export class ShareOfBytes {
  readonly #of: SharedBytes;
  #own = 0;

  /** @internal */
  constructor(of: SharedBytes) {
    this.#of = of;
  }

  /** So many bytes were taken, or given back if the number is below zero. */
  take(bytes: number): void {
    this.#own += bytes;
    this.#of.used += bytes;
  }

  /** Whether it gets no more. `part`: of all that there is, and of the share. */
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
