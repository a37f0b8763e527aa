import { type Clock, distanceOf } from '../kit/clock.ts';

/** If the wall clock moves further from the monotonic one between two looks, it was set. In milliseconds. */
const tolerance = 60_000;
/** How long nothing is removed after the wall clock was set, in milliseconds. */
const pauseAfterSet = 3_600_000;

/** Sees when the wall clock is set. It may be wrong, and what is removed by a wrong clock is lost. */
export class ClockWatch {
  readonly #clock: Clock;
  /** How far the wall clock was from the monotonic one at the last look. */
  #distance: number;
  /** From when on the wall clock is trusted, by the monotonic one. */
  #trustedFrom: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#distance = distanceOf(clock);
    this.#trustedFrom = clock.elapsed();
  }

  /** Whether the wall clock has not been set lately, so that what it says was kept long enough may be removed. */
  mayRemove(): boolean {
    const distance = distanceOf(this.#clock);
    const isSet = Math.abs(distance - this.#distance) > tolerance;
    this.#distance = distance;
    if (isSet) this.#trustedFrom = this.#clock.elapsed() + pauseAfterSet;
    return this.#clock.elapsed() >= this.#trustedFrom;
  }
}
