import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Clock } from '../kit/clock.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';

/** For how long claimed work is placed in one turn of the event loop, in milliseconds. */
const share = { ofTurn: 2 };

/**
 * Places claimed work once the answers that are being written have been written: handlers run after the answer. What has been
 * claimed is placed here and nowhere else, so that it is placed in the order in which it was claimed.
 */
export class AfterAnswer {
  readonly #beginReady: () => void;
  readonly #share: EventLoopShare;
  readonly #placings: (() => void)[] = [];
  #placing: Promise<void> | undefined;

  /** `beginReady`: begins the runs that have been placed. */
  constructor(clock: Clock, beginReady: () => void) {
    this.#beginReady = beginReady;
    this.#share = new EventLoopShare(clock, share);
  }

  /** Resolves when all of these have been called. */
  place(...placings: readonly (() => void)[]): Promise<void> {
    this.#placings.push(...placings);
    this.#placing ??= this.#placeAll();
    return this.#placing;
  }

  /** A claim may bring hundreds of events, which have to be read: deliveries go on between the turns that this takes. */
  async #placeAll(): Promise<void> {
    await endOfTurn();
    try {
      for (let place = this.#placings.shift(); place; place = this.#placings.shift()) {
        const wait = this.#share.whenFree();
        if (wait) this.#beginReady();
        if (wait) await wait;
        place();
      }
    } finally {
      this.#placing = undefined;
      this.#beginReady();
    }
  }
}
