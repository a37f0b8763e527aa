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
