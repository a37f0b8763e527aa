import type { Logger } from 'pino';
import { messageOf } from '../kit/thrown.ts';
import { joinedCall } from '../calls/joined-call.ts';
import { callRecordOf } from '../calls/timeline.ts';
import { backoffAfter } from '../kit/backoff.ts';
import { type Clock, pause } from '../kit/clock.ts';
import type { Random } from '../kit/random.ts';
import type { JoinTerms, JoinedCall, Run, UserDatabase } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import type { Sequence, Settled } from '../store/run-key.ts';
import type { RunState, Settlement, Store } from '../store/store.ts';
import { storePause } from '../store/store-pause.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Claim } from './claim.ts';
import { type Work, workOn } from './context.ts';
import { outcomeOf, runAttempt } from './run.ts';
import { type Conclusion, conclude, report } from './settle.ts';

/** In place of a handler's name, for an event that could not be routed to any. */
const unreadableEvent = '(unreadable event)';

/** A run with the claim it came with; a run that was stored has none. */
export interface ClaimedWork {
  readonly run: Run;
  readonly claim: Claim | undefined;
}

/** What executing a run needs. */
export interface ExecutionParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the receiver stops and will wait no longer. */
  readonly stop: AbortSignal;
}

/** Takes one run through an attempt: run → settle, and a line in the log. */
export class Execution {
  readonly #parts: ExecutionParts;

  constructor(parts: ExecutionParts) {
    this.#parts = parts;
  }

  /**
   * Calls `onConcluded` when the handler has ended. Resolves to what the run is left as, or undefined when another process took it over. Rejects only when the
   * inbox could not be written before the receiver stopped; then the claim goes back and the run is done again.
   */
  async attempt(
    { run: claimed, claim }: ClaimedWork,
    onConcluded: () => void,
  ): Promise<RunState | undefined> {
    const { clock, telemetry } = this.#parts;
    const run = claimed.isCounted ? await this.#begin(claimed) : claimed;
    if (!run) return this.#lost(claimed);
    const startedAt = clock.elapsed();
    const { conclusion, isSettled } = await this.#conclude(run, claim);
    onConcluded();
    if (!isSettled && (await this.settle(run, claim, conclusion)) === 'lost') return this.#lost(run);
    report(telemetry, run, conclusion, clock.elapsed() - startedAt);
    return conclusion.state;
  }

  /** Writes how a run is left, however long that takes: what has ended must not be begun again. */
  settle(
    run: Run,
    claim: Claim | undefined,
    { state, attempts }: Omit<Conclusion, 'cause'>,
  ): Promise<Settled> {
    // As of now, however long the writing takes: a wall clock that is set meanwhile must not move what is due.
    const settlement = this.#settlement(run, state, attempts, false);
    return this.#inTurn(claim, (last) =>
      this.#persist(() => this.#parts.store.settle({ ...settlement, last })),
    );
  }

  /** Tells a join that one of its events is here; the join's run is kept by the inbox. */
  async arrive(run: Run, claim: Claim, join: JoinTerms): Promise<Settled> {
    const { callId, eventName } = run;
    if (callId === undefined)
      throw new Error(`The join ${run.handler.name} was given an event without a call`);
    const key = { sequence: run.sequence, callId, handler: run.handler.name, stored: false };
    return claim.settle((last) =>
      this.#persist(() => this.#parts.store.calls.arrive({ run: key, eventName, ...join, last })),
    );
  }

  /** Marks an event done that no handler is to see. */
  finish(sequence: Sequence): Promise<void> {
    return this.#persist(() => this.#parts.store.finish(sequence));
  }

  /** Makes a dead letter of a run, or of a whole event, whose stored bytes can't be read any more. */
  async bury(
    {
      sequence,
      callId,
      handler,
    }: { sequence: Sequence; callId: string | undefined; handler: string | undefined },
    reason: string,
  ): Promise<void> {
    const settlement: Settlement = {
      sequence,
      callId,
      handler: handler ?? unreadableEvent,
      stored: handler !== undefined,
      last: handler === undefined,
      attempts: 0,
      state: { kind: 'dead', reason: `the stored event can't be read any more: ${reason}` },
      isJoin: false,
      // Those behind it must not wait for ever.
      isStrict: handler !== undefined,
      now: this.#parts.clock.now(),
    };
    await this.#persist(() => this.#parts.store.settle(settlement));
  }

  /** Counts the attempt beforehand where a process has died over this event, or an attempt has failed. */
  async #begin(run: Run): Promise<Run | undefined> {
    const key = {
      sequence: run.sequence,
      callId: run.callId,
      handler: run.handler.name,
      stored: run.stored,
    };
    const attempts = await this.#persist(() => this.#parts.store.begin(key));
    return attempts === undefined ? undefined : { ...run, stored: true, attempts: attempts - 1 };
  }

  async #conclude(
    run: Run,
    claim: Claim | undefined,
  ): Promise<{ conclusion: Conclusion; isSettled: boolean }> {
    const { stop, clock, telemetry } = this.#parts;
    if (run.attempts >= run.handler.retry.attempts) return { conclusion: exhausted(run), isSettled: false };
    const subject = run.handler.join ? await this.#callOf(run, run.handler.join) : run.event;
    if (!subject) return { conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: false };
    const { context, ended } = this.#workOn(run, claim);
    const backoff = () => backoffAfter(run.attempts + 1, run.handler.retry, this.#parts.random);
    const outcome = await runAttempt({ run, subject, context, stop, clock, backoff });
    const commit = await ended();
    if (commit === 'committed') {
      if (outcome.kind !== 'done') {
        telemetry.tell('run_failed_after_commit', { traceId: run.traceId, handler: run.handler.name });
      }
      return { conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: true };
    }
    const isLost = commit !== 'nothing' && outcome.kind === 'done';
    const real = isLost ? outcomeOf(commit.failed, backoff) : outcome;
    return { conclusion: conclude(run, real, clock.now()), isSettled: false };
  }

  /** What a join is called with; undefined when an earlier run of it has seen all there is. */
  async #callOf(
    { handler, event, callId }: Run,
    join: JoinTerms,
  ): Promise<CallEvent | JoinedCall | undefined> {
    if (callId === undefined) return event;
    const view = await this.#persist(() => this.#parts.store.calls.see(handler.name, callId, join.events));
    return view.isSettled ? undefined : joinedCall(callRecordOf(callId, view.events), join);
  }

  #workOn(run: Run, claim: Claim | undefined): Work {
    const { logger, store } = this.#parts;
    const { callId } = run;
    const callSoFar = async () => {
      const events = callId === undefined ? [] : await store.calls.eventsOf(callId);
      // A call that was erased meanwhile has none either.
      return callId === undefined || events.length === 0 ? undefined : callRecordOf(callId, events);
    };
    const settleWith = (effects: (database: UserDatabase) => void) => this.#settleWith(run, claim, effects);
    return workOn({ run, attempt: run.attempts + 1, logger, callSoFar, settleWith });
  }

  #settleWith(
    run: Run,
    claim: Claim | undefined,
    effects: (database: UserDatabase) => void,
  ): Promise<Settled> {
    return this.#inTurn(claim, (last) => {
      const settlement = this.#settlement(run, { kind: 'done' }, run.attempts + 1, last);
      return this.#parts.store.settleWith(settlement, effects);
    });
  }

  #settlement(run: Run, state: RunState, attempts: number, last: boolean): Settlement {
    return {
      sequence: run.sequence,
      callId: run.callId,
      handler: run.handler.name,
      stored: run.stored,
      last,
      attempts,
      state,
      isJoin: run.handler.join !== undefined,
      isStrict: run.handler.order === 'strict',
      now: this.#parts.clock.now(),
    };
  }

  #inTurn(claim: Claim | undefined, write: (last: boolean) => Promise<Settled>): Promise<Settled> {
    return claim ? claim.settle(write) : write(false);
  }

  /** Tries until the inbox takes it, or the receiver stops: then the claim goes back, and the run is done again. */
  async #persist<T>(write: () => Promise<T>): Promise<T> {
    const { stop, telemetry, clock } = this.#parts;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (stop.aborted) throw error;
        telemetry.tell('dispatch_failed', { cause: messageOf(error) });
        await pause(clock, storePause);
      }
    }
  }

  #lost(run: Run): undefined {
    this.#parts.telemetry.tell('run_lost', { traceId: run.traceId, handler: run.handler.name });
  }
}

/** Every attempt was counted and none came back: the process died in each of them. */
function exhausted(run: Run): Conclusion {
  const state = { kind: 'dead', reason: 'the process ended during every attempt' } as const;
  return { state, attempts: run.attempts, cause: 'process_died' };
}
