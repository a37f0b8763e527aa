import { messageOf } from '../kit/error-text.ts';
import type { Clock } from '../kit/clock.ts';
import type { RetentionLimits, RetentionStore } from '../store/retention-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { ClockWatch } from './clock-watch.ts';

/** How long data is kept, in milliseconds. */
interface RetentionPeriods {
  readonly done: number;
  readonly dead: number;
  readonly quarantine: number;
  readonly traceIds: number;
}

interface RetentionParts {
  readonly store: RetentionStore;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly periods: RetentionPeriods;
  /** Called at the end of each cleaning. */
  readonly onCleaned: () => Promise<void>;
}

/** The pause between two steps of a cleaning, in which deliveries are recorded, in milliseconds. */
const stepPause = 200;
/**
 * The bounds of the pause between two cleanings, in milliseconds. Short retention periods make it shorter, so that a
 * test needn't wait a minute.
 */
const minPause = 2_000;
const maxPause = 60_000;

/**
 * Removes expired data in small steps, so that deliveries never wait long for it. Every process that shares the inbox
 * does so; they don't disturb each other.
 */
export class Retention {
  readonly #parts: RetentionParts;
  readonly #pause: number;
  readonly #clockWatch: ClockWatch;
  #after: string | undefined;
  #removed = nothing();
  /** Whether groups of failures may quote removed events: an earlier process may have ended before it cleared them. */
  #mayQuote = true;
  #cancel = () => {};
  #step: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    const { done, dead, quarantine } = parts.periods;
    this.#clockWatch = new ClockWatch(parts.clock);
    this.#pause = Math.min(maxPause, Math.max(minPause, Math.min(done, dead, quarantine) / 10));
  }

  /** Begins after a pause, because a starting process has more urgent work. */
  start(): void {
    this.#plan(minPause);
  }

  /** Resolves when the step in flight has ended; no other begins. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#step;
    this.#reportProgress();
  }

  #plan(pause: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#parts.clock.after(pause, () => {
      this.#step = this.#clean();
    });
  }

  async #clean(): Promise<void> {
    const { telemetry, onCleaned } = this.#parts;
    try {
      const isOver = !this.#clockWatch.isTrusted() || (await this.#cleanStep());
      if (!isOver) return this.#plan(stepPause);
      this.#reportProgress();
      await onCleaned();
    } catch (error) {
      telemetry.report('retention_failed', { cause: messageOf(error) });
    }
    this.#plan(this.#pause);
  }

  /** Resolves to whether the cleaning is complete. */
  async #cleanStep(): Promise<boolean> {
    const { store } = this.#parts;
    const { next, ...removed } = await store.clean(this.#limits(), this.#after);
    this.#add(removed);
    this.#after = next;
    this.#mayQuote ||= removed.runs > 0;
    if (next !== undefined) return false;
    if (this.#mayQuote) await store.clearUnusedGroups();
    this.#mayQuote = false;
    return true;
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

  #reportProgress(): void {
    const removed = this.#removed;
    this.#removed = nothing();
    if (Object.values(removed).some((count) => count > 0)) {
      this.#parts.telemetry.report('retention_cleaned', removed);
    }
  }
}

function nothing() {
  return { events: 0, runs: 0, quarantined: 0, traceIds: 0 };
}
