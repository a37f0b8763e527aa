import { type Clock, pause } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import {
  type ClaimedEvent,
  type ClaimedRun,
  type HandlerTerms,
  type Settled,
  Unconfirmed,
} from '../store/claims.ts';
import type { Failure } from '../store/failure-store.ts';
import type { Store } from '../store/store.ts';
import { storePause } from '../store/timeouts.ts';
import type { UserDatabase } from './handler.ts';
import { type Conclusion, type Run, failureOf } from './run.ts';

/** Stands in for a handler if an event can't be read and therefore not routed. */
const unreadEvent: HandlerTerms = { name: '(unreadable event)', order: 'none', join: undefined };

interface SettlerParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Aborted when a stop interrupts active runs. */
  readonly stop: AbortSignal;
}

/** Settles runs. Repeats each write until it succeeds: a run that has ended must not begin again. */
export class Settler {
  readonly #parts: SettlerParts;
  readonly #reported = new Set<string>();

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** Writes the state of a run after an attempt, and how that failed, if it did. */
  settle(
    { claimed }: Pick<Run, 'claimed'>,
    { state, attempts }: Conclusion,
    failure: Failure | undefined,
  ): Promise<Settled> {
    // Read now, before a write that may take long: setting the wall clock meanwhile must not move the due time.
    const end = { state, attempts, failure, decidedAt: this.#parts.clock.now() };
    return this.persist(() => this.#parts.store.settle(claimed, end));
  }

  /**
   * Writes the effects of a run together with its end. If both are in the inbox but not confirmed by the disk, the
   * commit must not reject, because the effects are not undone: it waits until they are confirmed.
   */
  async settleWith({ claimed }: Run, effects: (database: UserDatabase) => unknown): Promise<Settled> {
    const { store, clock } = this.#parts;
    const end = { state: { kind: 'done' }, attempts: claimed.attempts + 1, decidedAt: clock.now() } as const;
    try {
      return await store.settleWith(claimed, end, effects);
    } catch (error) {
      if (!(error instanceof Unconfirmed)) throw error;
      await this.persist(error.confirm);
      return 'settled';
    }
  }

  /** Counts the attempt that is about to begin. Resolves to undefined if the claim was lost. */
  countAttempt({ claimed }: Run): Promise<ClaimedRun | undefined> {
    return this.persist(() => this.#parts.store.countAttempt(claimed));
  }

  /** Puts a run that has not begun back into the inbox. */
  requeue({ claimed }: Run): Promise<Settled> {
    return this.persist(() => this.#parts.store.requeue(claimed));
  }

  /** Ends the claim on an event for which there is nothing to run. */
  finish(event: ClaimedEvent): Promise<void> {
    return this.persist(() => this.#parts.store.finish(event));
  }

  /**
   * Reads an event over which a process has died, between two notes in the inbox: see the store's `beginReading`.
   * Resolves to what `read` returned, or undefined if the claim was lost.
   */
  async readNoted<T extends object>(
    claimed: ClaimedEvent | ClaimedRun,
    read: () => T | Promise<T>,
  ): Promise<T | undefined> {
    const { store } = this.#parts;
    if (!(await this.persist(() => store.beginReading(claimed)))) return undefined;
    try {
      return await read();
    } finally {
      await this.persist(() => store.endReading(claimed));
    }
  }

  /** Makes a dead letter of an event that can't be read and therefore not routed. */
  async settleUnread(event: ClaimedEvent, conclusion: Conclusion): Promise<void> {
    const [claimed] = this.#parts.store.runsOf(event, [unreadEvent]);
    if (!claimed) return this.finish(event);
    await this.settle({ claimed }, conclusion, failureOf(claimed, claimed.handler, conclusion, 0));
  }

  /**
   * Repeats a write until it succeeds. Rejects if it fails once the receiver has stopped waiting; the claim is then
   * given back, and the run is run again.
   */
  async persist<T>(write: () => Promise<T>): Promise<T> {
    const { stop, clock } = this.#parts;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (stop.aborted) throw error;
        this.#report(messageOf(error));
        await pause(clock, storePause, stop);
      }
    }
  }

  /** Reports a cause once per pause: while the inbox can't be written, the writes of all runs fail alike. */
  #report(cause: string): void {
    const { telemetry, clock } = this.#parts;
    if (this.#reported.has(cause)) return;
    this.#reported.add(cause);
    clock.after(storePause, () => this.#reported.delete(cause));
    telemetry.report('dispatch_failed', { cause });
  }
}
