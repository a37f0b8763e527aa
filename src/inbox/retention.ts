import { messageOf } from '../kit/thrown.ts';
import type { Clock } from '../kit/clock.ts';
import type { RetentionLimits, RetentionStore } from '../store/retention-store.ts';
import type { Telemetry } from '../telemetry.ts';

/** How long what is kept is kept, in milliseconds. */
export interface RetentionPeriods {
  readonly done: number;
  readonly dead: number;
  readonly quarantine: number;
  readonly traceIds: number;
}

/** What cleaning works with. */
export interface RetentionParts {
  readonly store: RetentionStore;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly periods: RetentionPeriods;
  /** Called when everything has been looked at. */
  readonly onCleaned: () => Promise<void>;
}

/** The pause between two steps of a cleaning, in which deliveries are recorded. Milliseconds. */
const stepPause = 200;
/** The pause between two cleanings: short where little time is kept, so that a test needn't wait a minute. */
const shortestPause = 2_000;
const longestPause = 60_000;

/**
 * Lets go of what was kept long enough, in small steps: nothing is ever removed in one sweep that deliveries would
 * have to wait for. Every process that shares the inbox does so; two of them do no harm to each other.
 */
export class Retention {
  readonly #parts: RetentionParts;
  readonly #pause: number;
  #after: string | undefined;
  #removed = nothing();
  #cancel = () => {};
  #step: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    const { done, dead, quarantine } = parts.periods;
    this.#pause = Math.min(longestPause, Math.max(shortestPause, Math.min(done, dead, quarantine) / 10));
  }

  /** Begins, a pause after the start: whoever starts has better things to do at first. */
  start(): void {
    this.#plan(shortestPause);
  }

  /** Ends after the step that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#step;
    this.#tell();
  }

  #plan(pause: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#parts.clock.after(pause, () => {
      this.#step = this.#clean();
    });
  }

  async #clean(): Promise<void> {
    const { store, telemetry } = this.#parts;
    try {
      const { next, ...removed } = await store.clean(this.#limits(), this.#after);
      this.#add(removed);
      this.#after = next;
      if (next !== undefined) return this.#plan(stepPause);
      this.#tell();
      await this.#parts.onCleaned();
    } catch (error) {
      telemetry.tell('retention_failed', { cause: messageOf(error) });
    }
    this.#plan(this.#pause);
  }

  #limits(): RetentionLimits {
    const { periods, clock } = this.#parts;
    const now = clock.now();
    return {
      now,
      doneBefore: now - periods.done,
      deadBefore: now - periods.dead,
      quarantineBefore: now - periods.quarantine,
      traceIdsUntil: now + periods.traceIds,
    };
  }

  #add(step: ReturnType<typeof nothing>): void {
    const { events, runs, quarantined, traceIds } = this.#removed;
    this.#removed = {
      events: events + step.events,
      runs: runs + step.runs,
      quarantined: quarantined + step.quarantined,
      traceIds: traceIds + step.traceIds,
    };
  }

  #tell(): void {
    const removed = this.#removed;
    this.#removed = nothing();
    if (Object.values(removed).some((count) => count > 0)) {
      this.#parts.telemetry.tell('retention_cleaned', removed);
    }
  }
}

function nothing() {
  return { events: 0, runs: 0, quarantined: 0, traceIds: 0 };
}
