import type { Clock } from '../kit/clock.ts';

/**
 * The platform's time: the time between the events of a call, and between two attempts, passes `speed` times as fast.
 * The time of day is the real one. How long a receiver takes to answer is measured with `real`, at any speed.
 */
export class SandboxClock implements Clock {
  readonly real: Clock;
  readonly #speed: number;

  constructor(real: Clock, speed: number) {
    this.real = real;
    this.#speed = speed;
  }

  now(): number {
    return this.real.now();
  }

  elapsed(): number {
    return this.real.elapsed();
  }

  /** Calls `action` when `ms` of the platform's milliseconds are over. Returns the function that cancels it. */
  after(ms: number, action: () => void): () => void {
    return this.real.after(this.inReal(ms), action);
  }

  /** Converts the platform's milliseconds into real ones. */
  inReal(ms: number): number {
    return ms / this.#speed;
  }
}
