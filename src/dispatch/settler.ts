import { messageOf } from '../kit/error-text.ts';
import { type Clock, pause } from '../kit/clock.ts';
import type { JoinTerms, Run, UserDatabase } from './handling.ts';
import type { Sequence, Settled } from '../store/run-key.ts';
import type { ClaimedEvent } from '../store/claims.ts';
import type { RunState, Settlement, Store } from '../store/store.ts';
import { storePause } from '../store/store-pause.ts';
import { Unconfirmed } from '../store/unconfirmed.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Claim } from './held.ts';
import type { Conclusion } from './conclude.ts';

/** In place of a handler's name, for an event that can't be read and therefore not be routed. */
const unreadEvent = '(unreadable event)';

/** What the settler needs. */
export interface SettlerParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Aborted when the receiver stops and will wait no longer. */
  readonly stop: AbortSignal;
}

/** Writes what becomes of runs, and repeats that until it succeeds: a run that has ended must not begin again. */
export class Settler {
  readonly #parts: SettlerParts;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** Writes the state in which an attempt has left a run. */
  settle(
    run: Run,
    claim: Claim | undefined,
    { state, attempts }: Omit<Conclusion, 'cause'>,
  ): Promise<Settled> {
    // Read now, however long the write takes: if the wall clock is set meanwhile, that must not move the due time.
    const now = this.#parts.clock.now();
    return inTurn(claim, (last) =>
      this.persist(() => this.#parts.store.settle(settlementOf(run, { state, attempts, last, now }))),
    );
  }

  /** Writes the effects of a run together with its end. */
  settleWith(
    run: Run,
    claim: Claim | undefined,
    effects: (database: UserDatabase) => void,
  ): Promise<Settled> {
    const { store, clock } = this.#parts;
    const attempts = run.attempts + 1;
    return inTurn(claim, (last) => {
      const settlement = settlementOf(run, { state: { kind: 'done' }, attempts, last, now: clock.now() });
      return this.#confirmed(store.settleWith(settlement, effects));
    });
  }

  /** Tells the inbox that an event of a join has arrived; the inbox keeps the join's run. */
  async arrive(run: Run, claim: Claim, join: JoinTerms): Promise<Settled> {
    const { callId, eventName } = run;
    if (callId === undefined)
      throw new Error(`The join ${run.handler.name} was given an event without a call`);
    const key = { sequence: run.sequence, callId, handler: run.handler.name, stored: false };
    return claim.settle((last) =>
      this.persist(() => this.#parts.store.calls.arrive({ run: key, eventName, ...join, last })),
    );
  }

  /** Marks an event done for which there is nothing to run. */
  finish(sequence: Sequence): Promise<void> {
    return this.persist(() => this.#parts.store.finish(sequence));
  }

  /**
   * Reads an event over which a process has died, between two notes in the inbox: see the store's `beginReading`.
   * Resolves to what `read` returned, or undefined when the claim is lost.
   */
  async readNoted<T>(
    { sequence, handler }: { readonly sequence: Sequence; readonly handler: string | undefined },
    read: () => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const { store } = this.#parts;
    if (!(await this.persist(() => store.beginReading(sequence, handler)))) return undefined;
    try {
      return { value: await read() };
    } finally {
      await this.persist(() => store.endReading(sequence));
    }
  }

  /** Makes a dead letter of an event that can't be read, so that nobody knows whose it is. */
  async settleUnread(
    { sequence, callId }: ClaimedEvent,
    { state, attempts }: Pick<Conclusion, 'state' | 'attempts'>,
  ): Promise<void> {
    const settlement: Settlement = {
      sequence,
      callId,
      handler: unreadEvent,
      stored: false,
      last: true,
      attempts,
      state,
      isJoin: false,
      isStrict: false,
      now: this.#parts.clock.now(),
    };
    await this.persist(() => this.#parts.store.settle(settlement));
  }

  /**
   * Repeats a write until it succeeds. Rejects if it fails once the receiver has stopped waiting; the claim is then
   * given back, and the run is run again.
   */
  async persist<T>(write: () => Promise<T>): Promise<T> {
    const { stop, telemetry, clock } = this.#parts;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (stop.aborted) throw error;
        telemetry.report('dispatch_failed', { cause: messageOf(error) });
        await pause(clock, storePause, stop);
      }
    }
  }

  /**
   * Waits until a commit is on disk. If it is in the inbox but the disk has not confirmed it, its effects are not
   * undone, so the handler must not be told that the commit failed.
   */
  async #confirmed(written: Promise<Settled>): Promise<Settled> {
    try {
      return await written;
    } catch (error) {
      if (!(error instanceof Unconfirmed)) throw error;
      await this.persist(error.confirm);
      return 'settled';
    }
  }
}

function inTurn(claim: Claim | undefined, write: (last: boolean) => Promise<Settled>): Promise<Settled> {
  return claim ? claim.settle(write) : write(false);
}

function settlementOf(
  run: Run,
  as: { readonly state: RunState; readonly attempts: number; readonly last: boolean; readonly now: number },
): Settlement {
  const { handler } = run;
  return {
    sequence: run.sequence,
    callId: run.callId,
    handler: handler.name,
    stored: run.stored,
    last: as.last,
    attempts: as.attempts,
    state: as.state,
    isJoin: handler.join !== undefined,
    isStrict: handler.order === 'strict',
    now: as.now,
  };
}
