import { availableParallelism } from 'node:os';
import type { Clock } from '../../../kit/clock.ts';
import { type Waiting, fewWrites } from './incoming.ts';

/** How long to spin after a commit, in milliseconds: about twice what a lone sender takes to send its next delivery. */
const maxSpin = 0.5;
/** A spin in vain undoes as many that found an event: it has taken a core from whoever else could have used it. */
const costOfVain = 8;
const maxCredit = 2 * costOfVain;
/** How long not to spin when too many were in vain, in milliseconds: then they take half a percent of a core at most. */
const rest = 100;

/**
 * Has the commit thread spin, which means to look for the next event again and again instead of sleeping.
 *
 * Where deliveries come one right after the other, waking the thread takes a tenth of the time of an answer. And the
 * mark that an event is done would have a commit of its own, for which the next event would wait; so it goes along with
 * that event instead.
 *
 * Spinning takes a core. It is done only where the main thread has another one to send the event from, and for as long
 * as nearly every spin finds an event: not where deliveries are further apart, come many at once, or wait for a core.
 */
export class AdaptiveSpin {
  readonly #clock: Clock;
  readonly #isPossible: boolean;
  #committedAt = -Infinity;
  #wasLone = false;
  #wasSoon = false;
  #credit = 0;
  #restsUntil = -Infinity;

  constructor(clock: Clock, cores = availableParallelism()) {
    this.#clock = clock;
    this.#isPossible = cores > 1;
  }

  /** These writes have been committed. */
  committed(group: readonly Waiting[]): void {
    this.#wasLone = group.length <= fewWrites;
    // Measured from a commit without events, a pause would seem shorter than it is.
    if (group.some(({ number }) => number !== undefined)) this.#committedAt = this.#clock.elapsed();
  }

  /** Events have come in. */
  eventsCame(): void {
    this.#wasSoon = this.#clock.elapsed() < this.#until;
  }

  /** Looks until there is something, if that is likely to pay, and for a moment only. */
  run(look: () => boolean): void {
    // What was there at once has come during the commit: it says nothing about what a spin finds.
    if (!this.#isPromising || look()) return;
    do {
      if (this.#clock.elapsed() >= this.#until) return this.#wasInVain();
    } while (!look());
    this.#credit = Math.min(this.#credit + 1, maxCredit);
  }

  get #until(): number {
    return this.#committedAt + maxSpin;
  }

  get #isPromising(): boolean {
    const now = this.#clock.elapsed();
    const isTime = now < this.#until && now >= this.#restsUntil;
    return this.#isPossible && this.#wasLone && this.#wasSoon && isTime;
  }

  #wasInVain(): void {
    this.#credit -= costOfVain;
    if (this.#credit >= 0) return;
    this.#credit = 0;
    this.#restsUntil = this.#clock.elapsed() + rest;
  }
}
