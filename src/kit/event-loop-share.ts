import { setImmediate } from 'node:timers';
import type { Clock } from './clock.ts';

/** How a piece of work shares the event loop. */
export interface ShareOptions {
  /** How long it may take of one turn of the event loop, in milliseconds. */
  readonly ofTurn: number;
  /** How long a part of it may wait for its turn, in milliseconds; then it is its turn, whatever that takes. */
  readonly longestWait?: number;
}

interface Waiting {
  readonly cameAt: number;
  readonly go: () => void;
}

/**
 * Shares the event loop with all else that goes on in the process. One turn may bring a delivery on every connection
 * and a run for every event: done in one go, they would stall the app, and each other. What is beyond the share waits
 * for later turns, in order.
 */
export class EventLoopShare {
  readonly #clock: Clock;
  readonly #ofTurn: number;
  readonly #longestWait: number;
  readonly #waiting: Waiting[] = [];
  /** When the share of this turn is used up. */
  #until = 0;
  #isCounting = false;

  constructor(clock: Clock, { ofTurn, longestWait = Infinity }: ShareOptions) {
    this.#clock = clock;
    this.#ofTurn = ofTurn;
    this.#longestWait = longestWait;
  }

  /**
   * Undefined if something may be done in this turn; otherwise resolves when it may be. It must then be done before
   * anything else is awaited, because only that is counted.
   */
  place(): Promise<void> | undefined {
    const now = this.#clock.elapsed();
    this.#count(now);
    if (this.#waiting.length === 0 && now < this.#until) return undefined;
    return new Promise((go) => this.#waiting.push({ cameAt: now, go }));
  }

  /** Begins to count this turn's time, unless it is counted. */
  #count(now: number): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#until = now + this.#ofTurn;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#waiting.length > 0) void this.#letSomeGo();
    });
  }

  async #letSomeGo(): Promise<void> {
    this.#count(this.#clock.elapsed());
    let [next] = this.#waiting;
    do {
      next?.go();
      // It is done now, and this function goes on after that. Until then it counts as waiting: otherwise something that
      // comes in between could overtake it.
      await Promise.resolve();
      this.#waiting.shift();
      [next] = this.#waiting;
    } while (next && this.#mayGo(next));
  }

  #mayGo({ cameAt }: Waiting): boolean {
    const now = this.#clock.elapsed();
    return now < this.#until || now - cameAt >= this.#longestWait;
  }
}
