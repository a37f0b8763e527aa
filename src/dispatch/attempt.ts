import { AsyncLocalStorage } from 'node:async_hooks';
import { callRecordOf } from '../calls/timeline.ts';
import type { BodyDecoder } from '../events/decoding.ts';
import { headerOf } from '../events/ids.ts';
import type { CallEvent } from '../events/model.ts';
import type { Activity } from '../kit/activity.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import { type AttemptSpan, type Tracing, untraced } from '../kit/tracing.ts';
import { mayBePoison } from '../store/claims.ts';
import type { CallStore } from '../store/call-store.ts';
import type { RunState } from '../store/store.ts';
import { conclude, concludedBefore, endedNow, failureOf, unreadable } from './conclude.ts';
import { readOwn } from './event-reader.ts';
import { type JoinTerms, joinedCall } from './handler.ts';
import { Invocation, type InvocationParts, type Subject } from './invocation.ts';
import type { Attempt, Attempted, OwnEvent, Run } from './run.ts';
import { report, reportLost } from './run-log.ts';
import type { Settler } from './settler.ts';

export interface AttemptParts extends InvocationParts {
  readonly store: { readonly calls: Pick<CallStore, 'eventsOf' | 'noteSeen'> };
  readonly settler: Pick<Settler, 'settle' | 'settleWith' | 'countAttempt' | 'readNoted' | 'persist'>;
  readonly decoder: BodyDecoder;
  readonly activity: Activity;
  readonly tracing: Tracing;
}

/**
 * How long handlers are called in one turn of the event loop, in milliseconds. Otherwise, handlers that compute would
 * be called one after the other, and no delivery would be answered until all are done.
 */
const share = { ofTurn: 10 };

/** Makes attempts: reads the event, invokes the handler, settles and logs. */
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
      if (over) attempted = endedNow(attempt, over, clock);
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
    return this.#invoke(attempt, subject);
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
    return this.#invoke({ ...attempt, run: counted }, subject, onInvoked);
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

  /**
   * What a join is called with; undefined if an earlier run of the join has seen all events that have arrived, or if the
   * claim was lost, which the settlement will find, too.
   */
  async #joinedCallOf({ claimed }: Run, callId: string, join: JoinTerms) {
    const { settler, store } = this.#parts;
    const view = await settler.persist(() => store.calls.noteSeen(claimed, join.events));
    return !view || view.isSettled ? undefined : joinedCall(callRecordOf(callId, view.events), join);
  }

  #notInvoked(attempt: Attempt, subject: Exclude<OwnEvent, CallEvent> | undefined): Attempted {
    const { run } = attempt;
    const { clock } = this.#parts;
    const conclusion = subject
      ? unreadable(subject.unreadable, run.claimed.attempts)
      : conclude(run, { kind: 'done' }, clock.now());
    return endedNow(attempt, conclusion, clock);
  }

  #invoke(attempt: Attempt, subject: Subject, onInvoked?: () => void): Promise<Attempted> {
    const invocation = new Invocation(this.#parts, attempt);
    return this.#outsideRequests(() => invocation.make(subject, onInvoked));
  }
}

function isSubject(subject: OwnEvent | Subject | undefined): subject is Subject {
  return subject !== undefined && !('unreadable' in subject);
}
