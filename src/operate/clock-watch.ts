import { type Clock, distanceOf } from '../kit/clock.ts';

/** How far the wall clock may move against the monotonic clock before it counts as set, in milliseconds. */
const tolerance = 60_000;
/** How long the wall clock isn't trusted after it was set, in milliseconds. */
const pauseAfterSet = 3_600_000;

/**
 * Notices when the wall clock is set: it may be wrong then. What a wrong clock removes is lost, and times before it was
 * set say nothing of how long ago something was.
 */
export class ClockWatch {
  readonly #clock: Clock;
  /** The difference between the wall clock and the monotonic clock at the last check. */
  #distance: number;
  /** When the wall clock is trusted again, on the monotonic clock. */
  #trustedFrom: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#distance = distanceOf(clock);
    this.#trustedFrom = clock.elapsed();
  }

  /** Whether the wall clock can be trusted: not soon after it was set. */
  isTrusted(): boolean {
    const distance = distanceOf(this.#clock);
    const isSet = Math.abs(distance - this.#distance) > tolerance;
    this.#distance = distance;
    if (isSet) this.#trustedFrom = this.#clock.elapsed() + pauseAfterSet;
    return this.#clock.elapsed() >= this.#trustedFrom;
  }
}
