import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Clock } from '../kit/clock.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { Loop } from './loop.ts';

/** For how long claimed work is placed in one turn of the event loop, in milliseconds. */
const share = { ofTurn: 2 };

/**
 * Does the work that follows an answer, after this turn's answers have been written. All claimed work is placed here,
 * so that it is placed in the order in which it was claimed.
 */
export class AfterAnswer {
  readonly #loop: Loop;
  readonly #share: EventLoopShare;
  readonly #waiting: (() => void)[] = [];
  #working: Promise<void> | undefined;

  constructor(clock: Clock, loop: Loop) {
    this.#loop = loop;
    this.#share = new EventLoopShare(clock, share);
  }

  /** Calls these functions in order. Resolves when all have been called. */
  do(...work: readonly (() => void)[]): Promise<void> {
    this.#waiting.push(...work);
    this.#working ??= this.#doAll();
    return this.#working;
  }

  /** A claim may bring hundreds of events to read. This takes several turns, and deliveries are answered in between. */
  async #doAll(): Promise<void> {
    await endOfTurn();
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        const wait = this.#share.whenFree();
        if (wait) this.#loop.beginReady();
        if (wait) await wait;
        next();
      }
    } finally {
      this.#working = undefined;
      this.#loop.beginReady();
    }
  }
}
