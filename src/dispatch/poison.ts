import type { Clock } from '../kit/clock.ts';
import { type CrashCounts, mayBePoison } from '../store/claims.ts';
import type { Run } from './run.ts';

/**
 * For how long a run is alone after its handler was called, in milliseconds, if one process has died over its event:
 * that may have been a deployment, and many runs, some of an hour, may have been taken over with it. What runs beside
 * others is counted, too.
 */
const maxAlone = 1_000;

/** An event that is to be read. */
interface WaitingReading {
  readonly readingCrashes: number;
  readonly begin: (end: (() => void) | undefined) => void;
}

/**
 * Lets one event that may be poison be read or handled at a time, so that only what ends the next process is blamed.
 * Others go on beside it. The handlers take turns: a slow one must not keep its siblings from all such runs of theirs.
 */
export class PoisonRuns<Lanes> {
  readonly #clock: Clock;
  readonly #onFree: () => void;
  /** Those of which a run was alone, the latest last. */
  #hadTurn: readonly Lanes[] = [];
  /** Who is alone: a run, or a reading. */
  #alone: object | undefined;
  #cancelTimer = () => {};
  /** Events to be read before it is known whose they are. They go before runs. */
  readonly #readings: WaitingReading[] = [];
  #isStopped = false;

  /** `onFree` is called when the next may be read or begun. */
  constructor(clock: Clock, onFree: () => void) {
    this.#clock = clock;
    this.#onFree = onFree;
  }

  /** The order in which lanes are looked at. */
  inTurn(lanes: readonly Lanes[]): readonly Lanes[] {
    if (this.#hadTurn.length === 0) return lanes;
    return [...lanes.filter((one) => !this.#hadTurn.includes(one)), ...this.#hadTurn];
  }

  readonly mayBegin = ({ claimed }: Run): boolean => !mayBePoison(claimed) || this.#alone === undefined;

  /** A run of these lanes begins. */
  began(lanes: Lanes, run: Run): void {
    if (!mayBePoison(run.claimed)) return;
    this.#alone = run;
    this.#hadTurn = [...this.#hadTurn.filter((other) => other !== lanes), lanes];
  }

  /** The handler of a run was called. After two deaths the run stays alone until it ends. */
  invoked(run: Run): void {
    if (this.#alone !== run || run.claimed.crashCount > 1) return;
    this.#cancelTimer = this.#clock.after(maxAlone, () => this.ended(run));
  }

  ended(run: object): void {
    if (this.#alone !== run) return;
    this.#cancelTimer();
    this.#alone = undefined;
    if (!this.#readNext()) this.#onFree();
  }

  /**
   * Resolves, when an event may be read, to the function that ends its reading; to undefined if the receiver stops.
   * Those over whose reading fewer processes have died go first: where something else ends one process after the other
   * soon after its start, the event that is read first must not be blamed each time.
   */
  mayRead({ readingCrashes }: CrashCounts): Promise<(() => void) | undefined> {
    return new Promise((begin) => {
      if (this.#isStopped) return begin(undefined);
      const place = this.#readings.findIndex((other) => other.readingCrashes > readingCrashes);
      this.#readings.splice(place < 0 ? this.#readings.length : place, 0, { readingCrashes, begin });
      // Not at once: others that were claimed with it may go first.
      queueMicrotask(() => this.#alone === undefined && this.#readNext());
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
    this.#alone = reading;
    next.begin(() => this.ended(reading));
    return true;
  }
}
