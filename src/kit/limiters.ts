import type { Clock } from './clock.ts';

/** How much may be taken. */
interface AllowanceLimits {
  /** How much at once, after a pause. */
  readonly atOnce: number;
  /** How much it grows by in a second. */
  readonly perSecond: number;
}

/** Bounds a rate, after a first burst. */
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

  /** Takes so much if anything is left. The last one may take more than is left, which then has to grow again. */
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

/** Lets only so many in at once; the others wait, in order. */
export class Semaphore {
  #free: number;
  /** A set, because removing the first item of a long array moves all the others. */
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#free = max;
  }

  /** Resolves when there is room, to the function that gives it back, however often that is called. */
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
