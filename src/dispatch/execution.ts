import type { Logger } from 'pino';
import { joinedCall } from '../calls/joined-call.ts';
import { callRecordOf } from '../calls/timeline.ts';
import { backoffAfter } from '../kit/backoff.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { Random } from '../kit/random.ts';
import { Semaphore } from '../kit/semaphore.ts';
import type { JoinTerms, JoinedCall, Outcome, Run, UserDatabase } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import type { RunState } from '../store/store.ts';
import type { Claim } from './claim.ts';
import { type Conclusion, conclude } from './conclude.ts';
import { type Work, workOn } from './context.ts';
import { outcomeOf, runAttempt } from './run.ts';
import { report, reportAfterCommit, reportBlocking, reportFailedCommit } from './run-log.ts';
import type { Settler, SettlerParts } from './settler.ts';

/** A run and the claim on its event. A run that was stored is claimed by itself, without its event. */
export interface ClaimedWork {
  readonly run: Run;
  readonly claim: Claim | undefined;
}

/** What executing a run needs. */
export interface ExecutionParts extends SettlerParts {
  readonly logger: Logger;
  readonly random: Random;
}

/**
 * For how long handlers are called in one turn of the event loop, in milliseconds. Handlers that compute would otherwise
 * be called one after the other, and no delivery would be answered until all of them are done.
 */
const share = { ofTurn: 10 };
/**
 * How many runs may be counted and not called yet. If the process dies, their attempts are used up, although their
 * handlers have done nothing. One is counted while the other waits for its turn.
 */
const mostUncalled = 2;

/** Takes one run through an attempt: run → settle, and a line in the log. */
export class Execution {
  readonly #parts: ExecutionParts;
  readonly #settler: Settler;
  readonly #share: EventLoopShare;
  readonly #uncalled = new Semaphore(mostUncalled);

  constructor(parts: ExecutionParts, settler: Settler) {
    this.#parts = parts;
    this.#settler = settler;
    this.#share = new EventLoopShare(parts.clock, share);
  }

  /**
   * Calls `onConcluded` when the handler has ended. Resolves to the state in which the run is left, or undefined when
   * the run was lost. Rejects only when the inbox could not be written before the receiver stopped; the claim is then
   * given back, and the run is run again.
   */
  attempt(work: ClaimedWork, onConcluded: () => void): Promise<RunState | undefined> {
    return work.run.isCounted ? this.#attemptCounted(work, onConcluded) : this.#goOn(work, { onConcluded });
  }

  async #attemptCounted({ run, claim }: ClaimedWork, onConcluded: () => void): Promise<RunState | undefined> {
    const onCalled = await this.#uncalled.acquire();
    try {
      const begun = await this.#begin(run);
      return begun ? await this.#goOn({ run: begun, claim }, { onCalled, onConcluded }) : this.#lost(run);
    } finally {
      onCalled();
    }
  }

  async #goOn(
    { run, claim }: ClaimedWork,
    { onCalled, onConcluded }: { readonly onCalled?: () => void; readonly onConcluded: () => void },
  ): Promise<RunState | undefined> {
    const { clock, telemetry } = this.#parts;
    const startedAt = clock.elapsed();
    const { conclusion, isSettled } = await this.#conclude(run, claim, onCalled);
    onConcluded();
    if (!isSettled && (await this.#settler.settle(run, claim, conclusion)) === 'lost') return this.#lost(run);
    report(telemetry, run, conclusion, clock.elapsed() - startedAt);
    return conclusion.state;
  }

  /** Counts the attempt beforehand: for a stored run, or if a process has died over its event. */
  async #begin(run: Run): Promise<Run | undefined> {
    const key = {
      sequence: run.sequence,
      callId: run.callId,
      handler: run.handler.name,
      stored: run.stored,
    };
    const attempts = await this.#settler.persist(() => this.#parts.store.begin(key));
    return attempts === undefined ? undefined : { ...run, stored: true, attempts: attempts - 1 };
  }

  async #conclude(
    run: Run,
    claim: Claim | undefined,
    onCalled: (() => void) | undefined,
  ): Promise<{ conclusion: Conclusion; isSettled: boolean }> {
    const { stop, clock, telemetry } = this.#parts;
    if (run.attempts >= run.handler.retry.attempts) return { conclusion: exhausted(run), isSettled: false };
    const subject = run.handler.join ? await this.#callOf(run, run.handler.join) : await run.event();
    if (!subject) return { conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: false };
    const backoff = () => backoffAfter(run.attempts + 1, run.handler.retry, this.#parts.random);
    const onRefused = (error: unknown) => reportFailedCommit(telemetry, run, outcomeOf(error, backoff));
    const { context, ended } = this.#workOn(run, claim, onRefused);
    const attempt = { run, subject, context, stop, clock, backoff };
    const later = this.#share.place(run.handler.name);
    if (later) await later;
    const called = this.#timed(run, () => runAttempt(attempt));
    onCalled?.();
    const outcome = await called;
    const commit = await ended();
    if (commit === 'committed') {
      if (outcome.kind !== 'done') reportAfterCommit(telemetry, run, outcome);
      return { conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: true };
    }
    const failure = commit === 'nothing' ? undefined : outcomeOf(commit.failed, backoff);
    const real = outcome.kind === 'done' ? (failure ?? outcome) : outcome;
    // A handler that fails by itself hides that its commit, which it didn't await, has failed as well.
    if (failure && reasonIn(failure) !== reasonIn(real)) reportFailedCommit(telemetry, run, failure);
    return { conclusion: conclude(run, real, clock.now()), isSettled: false };
  }

  /** What a join is called with; undefined when an earlier run of the join has seen all events that have arrived. */
  async #callOf(
    { handler, event, callId }: Run,
    join: JoinTerms,
  ): Promise<CallEvent | JoinedCall | undefined> {
    if (callId === undefined) return event();
    const view = await this.#settler.persist(() =>
      this.#parts.store.calls.see(handler.name, callId, join.events),
    );
    return view.isSettled ? undefined : joinedCall(callRecordOf(callId, view.events), join);
  }

  #workOn(run: Run, claim: Claim | undefined, onRefused: (error: unknown) => void): Work {
    const { logger, store } = this.#parts;
    const { callId } = run;
    const callSoFar = async () => {
      const events = callId === undefined ? [] : await store.calls.eventsOf(callId);
      // A call that was erased meanwhile has no events either.
      return callId === undefined || events.length === 0 ? undefined : callRecordOf(callId, events);
    };
    const settleWith = (effects: (database: UserDatabase) => void) =>
      this.#settler.settleWith(run, claim, (database) => this.#timed(run, () => effects(database)));
    return workOn({ run, attempt: run.attempts + 1, logger, callSoFar, settleWith, onRefused });
  }

  /** Calls the user's code, and reports how long it kept the event loop to itself. */
  #timed<T>(run: Run, call: () => T): T {
    const { clock, telemetry } = this.#parts;
    const calledAt = clock.elapsed();
    try {
      return call();
    } finally {
      reportBlocking(telemetry, run, clock.elapsed() - calledAt);
    }
  }

  #lost(run: Run): undefined {
    this.#parts.telemetry.tell('run_lost', { traceId: run.traceId, handler: run.handler.name });
  }
}

function reasonIn(outcome: Outcome): string | undefined {
  return outcome.kind === 'done' ? undefined : outcome.reason;
}

/**
 * All attempts have been counted, and yet the run is not settled: the process died in the last of them, or the handler
 * has been given fewer since.
 */
function exhausted({ attempts, takeovers }: Run): Conclusion {
  const hasDied = takeovers > 0;
  const why = hasDied ? 'the process ended during an attempt, and ' : '';
  const reason = `${why}no attempt is left after ${attempts}`;
  const state = { kind: 'dead', reason, keepsReason: true } as const;
  return { state, attempts, cause: hasDied ? 'process_died' : 'no_attempt_left' };
}
