import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';
import { type CallRecord, callRecordOf } from '../calls/timeline.ts';
import { ringbackError } from '../errors/errors.ts';
import type { BodyDecoder } from '../events/decoding.ts';
import { headerOf } from '../events/ids.ts';
import type { CallEvent } from '../events/model.ts';
import type { Activity } from '../kit/activity.ts';
import { backoffAfter } from '../kit/backoff.ts';
import type { Clock, Random } from '../kit/clock.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import { type AttemptSpan, type Tracing, untraced } from '../kit/tracing.ts';
import { isThenable } from '../kit/values.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { mayBePoison } from '../store/claims.ts';
import type { CallStore } from '../store/call-store.ts';
import type { RunState } from '../store/store.ts';
import { conclude, concludedBefore, failureOf, unreadable } from './conclude.ts';
import { AttemptContext, Commit, type Committed } from './context.ts';
import { EarlyEnd, untilEnd } from './deadline.ts';
import { readOwn } from './event-reader.ts';
import { type JoinTerms, type JoinedCall, type Outcome, joinedCall } from './handler.ts';
import { interrupted, isDecision, missedDeadline, outcomeOf, reasonIn } from './outcomes.ts';
import type { Attempt, Attempted, Conclusion, OwnEvent, Run } from './run.ts';
import { report, reportAfterCommit, reportBlocking, reportFailedCommit, reportLost } from './run-log.ts';
import type { Settler } from './settler.ts';

export interface AttemptParts {
  readonly store: { readonly calls: Pick<CallStore, 'eventsOf' | 'noteSeen'> };
  readonly settler: Pick<Settler, 'settle' | 'settleWith' | 'countAttempt' | 'readNoted' | 'persist'>;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  readonly activity: Activity;
  readonly tracing: Tracing;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when a stop interrupts active runs. */
  readonly stop: AbortSignal;
}

/**
 * How long handlers are called in one turn of the event loop, in milliseconds. Otherwise, handlers that compute would
 * be called one after the other, and no delivery would be answered until all are done.
 */
const share = { ofTurn: 10 };

/** What the user's function is called with. */
type Subject = CallEvent | JoinedCall;

/** Makes attempts: reads the event, calls the user's function, concludes, settles and logs. */
export class Attempts {
  readonly #parts: AttemptParts;
  readonly #share: EventLoopShare;
  /**
   * Calls a function in the asynchronous context in which the receiver was made. An attempt is often begun by another
   * delivery, whose request the handler must not find in an app's `AsyncLocalStorage`.
   */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#share = new EventLoopShare(parts.clock, share);
  }

  /**
   * Makes one attempt of a run, up to the end of its handler; `settle` must follow. Undefined if the claim was lost.
   * `onInvoked` is called as soon as the handler of a run that may be poison has been called. Rejects only if the inbox
   * could not be written before the receiver stopped.
   */
  async make(run: Run, onInvoked: () => void = () => {}): Promise<Attempted | undefined> {
    const { clock, telemetry } = this.#parts;
    const attempt = { run, span: this.#spanOf(run), startedAt: clock.elapsed() };
    let attempted: Attempted | undefined;
    try {
      const over = concludedBefore(run);
      if (over) attempted = this.#ended(attempt, over);
      else if (mayBePoison(run.claimed)) attempted = await this.#tryCounted(attempt, onInvoked);
      else attempted = await this.#tryUncounted(attempt);
    } finally {
      if (!attempted) attempt.span.end('lost', undefined);
    }
    return attempted ?? reportLost(telemetry, run);
  }

  /**
   * Writes how an attempt ended. Resolves to the state of the run, or undefined if the claim was lost. Rejects only if
   * the inbox could not be written before the receiver stopped; the claim is then given back, and the run is run again.
   */
  async settle(attempted: Attempted): Promise<RunState | undefined> {
    const { run, span, conclusion, duration } = attempted;
    const { clock, telemetry, activity, settler } = this.#parts;
    const { name } = run.handler;
    const { state, cause } = conclusion;
    const outcome = state.kind === 'due' ? 'retried' : state.kind;
    let isHeld = false;
    try {
      const failure = failureOf(run.claimed, name, conclusion, duration);
      isHeld =
        attempted.isSettled ||
        (await span.settle(() => settler.settle(run, conclusion, failure))) === 'settled';
      if (!isHeld) return reportLost(telemetry, run, cause);
      report(telemetry, run, conclusion, clock.elapsed() - attempted.startedAt);
      if (cause !== 'interrupted') activity.ran(name, outcome, duration, failure?.group);
      return state;
    } finally {
      if (isHeld) span.end(outcome, cause);
      else span.end('lost', undefined);
    }
  }

  /**
   * Most attempts are counted when they end. If the process dies during one, nobody knows which run was to blame, and a
   * run that was only waiting for its turn must not lose an attempt.
   */
  async #tryUncounted(attempt: Attempt): Promise<Attempted> {
    const { run } = attempt;
    const subject = await this.#subjectOf(run);
    if (!isSubject(subject)) return this.#notInvoked(attempt, subject);
    const wait = this.#share.whenFree(run.handler.name);
    if (wait) await wait;
    return this.#runHandler(attempt, subject);
  }

  /**
   * Once a process has died over the event, each step is noted in the inbox before it is taken, first the reading, then
   * the attempt: the next crash then shows which of them is to blame. Nothing is awaited between counting the attempt
   * and calling the handler.
   */
  async #tryCounted(attempt: Attempt, onInvoked: () => void): Promise<Attempted | undefined> {
    const { settler } = this.#parts;
    const { run } = attempt;
    const read = await settler.readNoted(run.claimed, () => this.#subjectOf(run));
    if (!read) return undefined;
    const subject = read.value;
    if (!isSubject(subject)) return this.#notInvoked(attempt, subject);
    const claimed = await settler.countAttempt(run);
    if (!claimed) return undefined;
    // `conclude` will count the attempt, which has been counted already.
    const counted = { ...run, claimed: { ...claimed, attempts: claimed.attempts - 1 } };
    return this.#runHandler({ ...attempt, run: counted }, subject, onInvoked);
  }

  #spanOf({ handler, claimed }: Run): AttemptSpan {
    const { tracer } = this.#parts.tracing;
    const { traceId, callId, eventName, attempts, headers } = claimed;
    if (!tracer) return untraced;
    const traceparent = headerOf(headers, 'traceparent');
    return tracer.attempt({
      traceId,
      callId,
      eventName,
      handler: handler.name,
      attempt: attempts + 1,
      traceparent,
    });
  }

  /** What the run's function is called with; undefined if it need not be called. */
  #subjectOf(run: Run): OwnEvent | Promise<OwnEvent | Subject | undefined> {
    const { join } = run.handler;
    const { callId } = run.claimed;
    if (join && callId !== undefined) return this.#joinedCallOf(run, callId, join);
    return run.read ?? readOwn(this.#parts.decoder, run.claimed);
  }

  /** What a join is called with; undefined if an earlier run of the join has seen all events that have arrived. */
  async #joinedCallOf({ handler }: Run, callId: string, join: JoinTerms) {
    const { settler, store } = this.#parts;
    const view = await settler.persist(() => store.calls.noteSeen(handler.name, callId, join.events));
    return view.isSettled ? undefined : joinedCall(callRecordOf(callId, view.events), join);
  }

  #notInvoked(attempt: Attempt, subject: Exclude<OwnEvent, CallEvent> | undefined): Attempted {
    const { run } = attempt;
    const conclusion = subject
      ? unreadable(subject.unreadable, run.claimed.attempts)
      : conclude(run, { kind: 'done' }, this.#parts.clock.now());
    return this.#ended(attempt, conclusion);
  }

  #ended(attempt: Attempt, conclusion: Conclusion, isSettled = false): Attempted {
    return { ...attempt, conclusion, isSettled, duration: this.#parts.clock.elapsed() - attempt.startedAt };
  }

  async #runHandler(attempt: Attempt, subject: Subject, onInvoked?: () => void): Promise<Attempted> {
    const { settler, telemetry, logger } = this.#parts;
    const { run, span } = attempt;
    const backoff = () => this.#backoffOf(run);
    const end = new EarlyEnd();
    const commit = new Commit({
      settleWith: (effects) =>
        span.settle(() =>
          settler.settleWith(run, (database) => this.#reportingBlocking(run, () => effects(database))),
        ),
      onRefused: (error) => reportFailedCommit(telemetry, run, outcomeOf(error, backoff)),
      untilEnd: (effects) => this.#effectsUntilEnd(run, end, effects),
    });
    const callSoFar = () => this.#callSoFar(run);
    const context = new AttemptContext(run, { logger, end, call: callSoFar, commit });
    const callHandler = () => run.handler.handle(subject, context);
    const handle = () => this.#outsideRequests(() => span.handle(callHandler));
    const invoked = this.#reportingBlocking(run, () => this.#invoke(run, end, backoff, handle));
    onInvoked?.();
    const outcome = await invoked;
    return this.#concluded(attempt, outcome, await commit.ended());
  }

  /**
   * Calls the user's function and returns its outcome; never throws. At its deadline an attempt is over even if the
   * function ignores its signal and goes on: `ctx.commit` is refused from then on.
   */
  #invoke(run: Run, end: EarlyEnd, backoff: () => number, handle: () => unknown): Outcome | Promise<Outcome> {
    const { stop, clock } = this.#parts;
    if (stop.aborted) return interrupted;
    const { timeout } = run.handler;
    const failure = (thrown: unknown): Outcome => {
      if (stop.aborted) return interrupted;
      return end.isReached ? missedDeadline(timeout, backoff()) : outcomeOf(thrown, backoff);
    };
    // A decision that was returned instead of thrown. Taking that for done would silently lose the event.
    const result = (returned: unknown): Outcome =>
      isDecision(returned) ? failure(returned) : { kind: 'done' };
    try {
      const returned = handle();
      if (!isThenable(returned)) return result(returned);
      return untilEnd(Promise.resolve(returned), end, { timeout, stop, clock }).then(result).catch(failure);
    } catch (thrown) {
      return failure(thrown);
    }
  }

  /**
   * Waits for a commit's effects until the attempt's deadline or the stop, also if the user's function did not await
   * the commit. Effects that never end would otherwise keep the run and its transaction open for ever.
   */
  #effectsUntilEnd(run: Run, end: EarlyEnd, effects: Promise<unknown>): Promise<unknown> {
    const { stop, clock } = this.#parts;
    const unawaited = new EarlyEnd();
    const ended = untilEnd(effects, unawaited, { timeout: run.handler.timeout, stop, clock });
    return Promise.race([ended, end.reached()]).catch((thrown: unknown) => {
      throw end.isReached || unawaited.isReached ? ringbackError('commit_too_late') : thrown;
    });
  }

  /** Combines the outcome of the function with that of its commit. */
  #concluded(attempt: Attempt, outcome: Outcome, commit: Committed): Attempted {
    const { telemetry, clock } = this.#parts;
    const { run } = attempt;
    if (commit === 'committed') {
      if (outcome.kind !== 'done') reportAfterCommit(telemetry, run, outcome);
      return this.#ended(attempt, conclude(run, { kind: 'done' }, clock.now()), true);
    }
    const failure = commit === 'nothing' ? undefined : outcomeOf(commit.failed, () => this.#backoffOf(run));
    const real = outcome.kind === 'done' ? (failure ?? outcome) : outcome;
    // If the handler fails for another reason, its outcome hides that the commit, which it didn't await, failed too.
    if (failure && reasonIn(failure) !== reasonIn(real)) reportFailedCommit(telemetry, run, failure);
    return this.#ended(attempt, conclude(run, real, clock.now()));
  }

  /** The record of the run's call, computed from its events so far. */
  async #callSoFar({ claimed: { callId } }: Run): Promise<CallRecord | undefined> {
    const events = callId === undefined ? [] : await this.#parts.store.calls.eventsOf(callId);
    // A call that was erased meanwhile has no events.
    return callId === undefined || events.length === 0 ? undefined : callRecordOf(callId, events);
  }

  /** How long to wait after this attempt if it fails, in milliseconds. */
  #backoffOf({ claimed, handler }: Run): number {
    return backoffAfter(claimed.attempts + 1, handler.retry, this.#parts.random);
  }

  /** Calls the user's code, and reports if it blocked the event loop. */
  #reportingBlocking<T>(run: Run, work: () => T): T {
    const { clock, telemetry } = this.#parts;
    const calledAt = clock.elapsed();
    try {
      return work();
    } finally {
      reportBlocking(telemetry, run, clock.elapsed() - calledAt);
    }
  }
}

function isSubject(subject: OwnEvent | Subject | undefined): subject is Subject {
  return subject !== undefined && !('unreadable' in subject);
}
