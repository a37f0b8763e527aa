import type { Logger } from 'pino';
import { type CallRecord, callRecordOf } from '../calls/timeline.ts';
import type { CallEvent } from '../events/model.ts';
import { backoffAfter } from '../kit/backoff.ts';
import type { Random } from '../kit/clock.ts';
import { isThenable } from '../kit/values.ts';
import type { CallStore } from '../store/call-store.ts';
import { Commit, type CommitParts, type Committed } from './commit.ts';
import { conclude, endedNow } from './conclude.ts';
import { AttemptContext } from './context.ts';
import { EarlyEnd, untilEnd } from './deadline.ts';
import type { JoinedCall, Outcome } from './handler.ts';
import { interrupted, isDecision, missedDeadline, outcomeOf, reasonIn } from './outcomes.ts';
import type { Attempt, Attempted } from './run.ts';
import { reportAfterCommit, reportFailedCommit, reportingBlocking } from './run-log.ts';

export interface InvocationParts extends CommitParts {
  readonly store: { readonly calls: Pick<CallStore, 'eventsOf'> };
  readonly logger: Logger;
  readonly random: Random;
}

/** What the user's function is called with. */
export type Subject = CallEvent | JoinedCall;

/** The call of a handler in an attempt: what the handler is given, and what becomes of what it does. */
export class Invocation {
  readonly #parts: InvocationParts;
  readonly #attempt: Attempt;
  readonly #end = new EarlyEnd();
  readonly #commit: Commit;

  constructor(parts: InvocationParts, attempt: Attempt) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#commit = new Commit(parts, attempt, this.#end);
  }

  /** Calls the user's function once, and waits until the attempt is over. `onInvoked` is called in between. */
  async make(subject: Subject, onInvoked?: () => void): Promise<Attempted> {
    const invoked = this.#invoke(subject);
    onInvoked?.();
    const outcome = await invoked;
    return this.#attempted(outcome, await this.#commit.ended());
  }

  /**
   * Calls the user's function and returns its outcome; never throws. At its deadline an attempt is over even if the
   * function ignores its signal and goes on: `ctx.commit` is refused from then on.
   */
  #invoke(subject: Subject): Outcome | Promise<Outcome> {
    const { stop, clock } = this.#parts;
    if (stop.aborted) return interrupted;
    const { run, span } = this.#attempt;
    const { handler } = run;
    const context = this.#context();
    const callHandler = () => handler.handle(subject, context);
    try {
      const returned = reportingBlocking(this.#parts, run, () => span.handle(callHandler));
      if (!isThenable(returned)) return this.#outcomeOfReturned(returned);
      return untilEnd(Promise.resolve(returned), this.#end, { timeout: handler.timeout, stop, clock })
        .then((result) => this.#outcomeOfReturned(result))
        .catch((thrown: unknown) => this.#outcomeOfThrown(thrown));
    } catch (thrown) {
      return this.#outcomeOfThrown(thrown);
    }
  }

  #context(): AttemptContext {
    const { commit } = this.#commit;
    const call = () => this.#callSoFar();
    return new AttemptContext(this.#attempt.run, {
      logger: this.#parts.logger,
      end: this.#end,
      call,
      commit,
    });
  }

  /** The record of the run's call, computed from its events so far. */
  async #callSoFar(): Promise<CallRecord | undefined> {
    const { callId } = this.#attempt.run.claimed;
    if (callId === undefined) return undefined;
    const events = await this.#parts.store.calls.eventsOf(callId, this.#commit.database);
    // A call that was erased meanwhile has no events.
    return events.length === 0 ? undefined : callRecordOf(callId, events);
  }

  #outcomeOfReturned(returned: unknown): Outcome {
    // A decision that was returned instead of thrown. Taking that for done would silently lose the event.
    return isDecision(returned) ? this.#outcomeOfThrown(returned) : { kind: 'done' };
  }

  #outcomeOfThrown(thrown: unknown): Outcome {
    if (this.#parts.stop.aborted) return interrupted;
    if (this.#end.isReached) return missedDeadline(this.#attempt.run.handler.timeout, this.#backoff());
    return outcomeOf(thrown, () => this.#backoff());
  }

  /** How long to wait after this attempt if it fails, in milliseconds. */
  #backoff(): number {
    const { claimed, handler } = this.#attempt.run;
    return backoffAfter(claimed.attempts + 1, handler.retry, this.#parts.random);
  }

  /** Combines the outcome of the function with that of its commit. */
  #attempted(outcome: Outcome, commit: Committed): Attempted {
    const { telemetry, clock } = this.#parts;
    const { run } = this.#attempt;
    if (commit === 'committed') {
      if (outcome.kind !== 'done') reportAfterCommit(telemetry, run, outcome);
      return endedNow(this.#attempt, conclude(run, { kind: 'done' }, clock.now()), clock, true);
    }
    const failure = commit === 'nothing' ? undefined : outcomeOf(commit.failed, () => this.#backoff());
    const real = outcome.kind === 'done' ? (failure ?? outcome) : outcome;
    // If the handler fails for another reason, its outcome hides that the commit, which it didn't await, failed too.
    if (failure && reasonIn(failure) !== reasonIn(real)) reportFailedCommit(telemetry, run, failure);
    return endedNow(this.#attempt, conclude(run, real, clock.now()), clock);
  }
}
