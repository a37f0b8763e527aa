import type { Clock } from './clock.ts';

interface AllowanceLimits {
  /** How much may be taken at once, after a pause. */
  readonly atOnce: number;
  /** How much is added per second. */
  readonly perSecond: number;
}

/** Limits a rate, and allows a burst. */
export class Allowance {
  readonly #clock: Clock;
  readonly #limits: AllowanceLimits;
  #left: number;
  #countedAt: number;

  constructor(clock: Clock, limits: AllowanceLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#left = limits.atOnce;
    this.#countedAt = clock.elapsed();
  }

  /** Takes an amount if anything is left. That may be more than is left; the debt then delays the next. */
  take(amount: number): boolean {
    const { atOnce, perSecond } = this.#limits;
    const now = this.#clock.elapsed();
    this.#left = Math.min(atOnce, this.#left + ((now - this.#countedAt) / 1_000) * perSecond);
    this.#countedAt = now;
    if (this.#left <= 0) return false;
    this.#left -= amount;
    return true;
  }
}

/** Lets at most `max` in at once; the others wait, in order. */
export class Semaphore {
  #free: number;
  /** A set, because removing the first item of a long array moves all others. */
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#free = max;
  }

  /** Does work once there is room, and gives the room back, however the work ends. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when there is room, to a function that gives it back; calling that again does nothing. */
  async acquire(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((go) => this.#waiting.add(go));
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = this.#waiting;
      if (!next) {
        this.#free += 1;
        return;
      }
      this.#waiting.delete(next);
      next();
    };
  }
}

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
