import { setImmediate } from 'node:timers';
import type { Clock } from '../kit/clock.ts';

/** How long deliveries may be verified and read in one turn of the event loop, in milliseconds. */
const share = 1;
/**
 * How many deliveries may wait for a later turn. Those beyond it are taken in the same turn: in a flood, reading ever
 * more deliveries from their sockets would otherwise take the time in which those that wait would be answered.
 */
export const mostWaiting = 1_024;

/**
 * Shares the event loop with the app around the receiver. One turn may bring a delivery on every connection: to verify
 * and read all of them in it would stall the app for as long as that takes, which with long transcripts is dozens of
 * milliseconds. What is beyond the share waits for later turns, in order.
 */
export class EventLoopShare {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  /** When the share of this turn is used up. */
  #until = 0;
  #isCounting = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if a delivery may be taken in this turn; otherwise resolves when it may be. */
  place(): Promise<void> | undefined {
    this.#count();
    if (this.#waiting.length === 0 && this.#hasTime) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get #hasTime(): boolean {
    return this.#clock.elapsed() < this.#until;
  }

  /** Begins to count this turn's time, unless it is counted. */
  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#until = this.#clock.elapsed() + share;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#waiting.length > 0) void this.#letSomeGo();
    });
  }

  async #letSomeGo(): Promise<void> {
    this.#count();
    do {
      this.#waiting.shift()?.();
      // The delivery is verified now; this function goes on after that.
      await Promise.resolve();
    } while (this.#waiting.length > mostWaiting || (this.#waiting.length > 0 && this.#hasTime));
  }
}
