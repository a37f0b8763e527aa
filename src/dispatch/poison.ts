import type { Clock } from '../kit/clock.ts';
import type { CrashCounts } from '../store/claims.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Loop } from './in-flight.ts';
import { type Conclusion, type Run, deadFor } from './run.ts';

/**
 * How long a run is alone after its handler was called, in milliseconds, if one process has died over its event. That
 * may have been a deployment, after which many runs were taken over, and some may take an hour. Its attempt is counted
 * in any case.
 */
const maxAlone = 1_000;

/**
 * How many processes may die while they read an event alone. More than one, because each may have died of something
 * else: it was killed by hand, or by another event that was tried for the first time beside this one.
 */
const maxReadingCrashes = 5;

/** An event that is to be read. */
interface WaitingReading {
  readonly readingCrashes: number;
  readonly begin: (end: (() => void) | undefined) => void;
}

/**
 * Lets only one event that may be poison be read or handled at a time, so that the next crash is blamed on that one.
 * Other events go on beside it. The handlers alternate: a slow one must not block such runs of its siblings.
 */
export class PoisonRuns {
  readonly #clock: Clock;
  readonly #loop: Loop;
  /** The lanes, in the order in which their runs may begin: those of which a run was alone most recently come last. */
  lanesInOrder: readonly HandlerLanes[];
  /** What is alone: a run, or a reading. */
  alone: object | undefined;
  #cancelTimer = () => {};
  /** Events that wait to be read. They go before runs. */
  readonly #readings: WaitingReading[] = [];
  #isStopped = false;

  constructor(lanes: readonly HandlerLanes[], clock: Clock, loop: Loop) {
    this.lanesInOrder = lanes;
    this.#clock = clock;
    this.#loop = loop;
  }

  /** Call it when a run of these lanes that may be poison begins. */
  began(lanes: HandlerLanes, run: Run): void {
    this.alone = run;
    this.lanesInOrder = [...this.lanesInOrder.filter((other) => other !== lanes), lanes];
  }

  /** Call it when the handler of a run was called. After two crashes the run stays alone until it ends. */
  invoked(run: Run): void {
    if (this.alone !== run || run.claimed.crashCount > 1) return;
    this.#cancelTimer = this.#clock.after(maxAlone, () => this.ended(run));
  }

  ended(run: object): void {
    if (this.alone !== run) return;
    this.#cancelTimer();
    this.alone = undefined;
    if (!this.#readNext()) this.#loop.beginReady();
  }

  /**
   * Resolves when an event may be read, to a function to call after reading it; to undefined if the receiver stops.
   * Events whose reading has seen fewer crashes go first: if something else ends each process soon after its start, the
   * event that is read first must not be blamed each time.
   */
  waitToRead({ readingCrashes }: CrashCounts): Promise<(() => void) | undefined> {
    return new Promise((begin) => {
      if (this.#isStopped) return begin(undefined);
      const index = this.#readings.findIndex((other) => other.readingCrashes > readingCrashes);
      this.#readings.splice(index < 0 ? this.#readings.length : index, 0, { readingCrashes, begin });
      // Not at once: events that were claimed with it may go first.
      queueMicrotask(() => this.alone === undefined && this.#readNext());
    });
  }

  /** From now on nothing is read. */
  stop(): void {
    this.#isStopped = true;
    for (const { begin } of this.#readings.splice(0)) begin(undefined);
  }

  #readNext(): boolean {
    const next = this.#readings.shift();
    if (!next) return false;
    const reading = {};
    this.alone = reading;
    next.begin(() => this.ended(reading));
    return true;
  }
}

/** The end of a run or of a whole event if too many processes died while they read it: it is not read any more. */
export function diedReading({ readingCrashes }: CrashCounts, attempts: number): Conclusion | undefined {
  if (readingCrashes < maxReadingCrashes) return undefined;
  const state = deadFor(`the process ended ${readingCrashes} times while it read the event`);
  return { state, attempts, cause: 'process_died' };
}
