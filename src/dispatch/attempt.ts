import { AsyncLocalStorage } from 'node:async_hooks';
import { callRecordOf } from '../calls/timeline.ts';
import type { BodyDecoder } from '../events/decoding.ts';
import { headerOf } from '../events/names.ts';
import { readBytes } from '../events/read-event.ts';
import type { Activity } from '../kit/activity.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { AttemptSpan, Tracer, Tracing } from '../kit/tracing.ts';
import type { ClaimedRun } from '../store/claims.ts';
import type { CallStore } from '../store/call-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { RunState, Store } from '../store/store.ts';
import type { JoinTerms, JoinedCall } from './handler.ts';
import { type InvocationParts, type Subject, invoke } from './invocation.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Conclusion,
  type EndedAttempt,
  type Run,
  conclude,
  exhausted,
  failureOf,
  mayBePoison,
  unreadable,
} from './run.ts';
import type { Settler } from './settler.ts';
import { diedReading } from './poison.ts';

export interface AttemptParts extends InvocationParts {
  readonly store: Pick<Store, 'mayHold'> & { readonly calls: Pick<CallStore, 'eventsOf' | 'noteSeen'> };
  readonly settler: Pick<Settler, 'settle' | 'settleWith' | 'countAttempt' | 'readNoted' | 'persist'>;
  readonly decoder: BodyDecoder;
  readonly activity: Activity;
  readonly tracing: Tracing;
  /** Called as soon as the handler of a run that may be poison has been called. */
  readonly onInvoked?: (run: Run) => void;
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
   * In the asynchronous context in which the receiver was made. An attempt is often begun by another delivery, whose
   * request the handler must not find in an app's `AsyncLocalStorage`.
   */
  readonly #invoke = AsyncLocalStorage.bind(invoke);

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#share = new EventLoopShare(parts.clock, share);
  }

  /**
   * Makes one attempt of a run, up to the end of its handler; `settle` must follow. Undefined if the claim was lost.
   * Rejects only if the inbox could not be written before the receiver stopped.
   */
  async make(run: Run): Promise<EndedAttempt | undefined> {
    const { store, clock, telemetry, tracing } = this.#parts;
    // Others took this process for dead. What they run now would be run here as well, and beside other runs of its call.
    if (!store.mayHold(run.claimed)) return reportLost(telemetry, run);
    const span = tracing.tracer && this.#spanOf(run, tracing.tracer);
    const attempt = { run, span, startedAt: clock.elapsed() };
    let end: AttemptEnd | undefined;
    try {
      const { attempts } = run.handler.retry;
      if (run.claimed.attempts >= attempts) end = { run, conclusion: exhausted(run.claimed) };
      else if (mayBePoison(run.claimed)) end = await this.#tryCounted(attempt);
      else end = await this.#tryUncounted(attempt);
    } finally {
      if (!end) attempt.span?.end('lost', undefined);
    }
    if (!end) return reportLost(telemetry, run);
    return { ...attempt, ...end, duration: clock.elapsed() - attempt.startedAt };
  }

  /**
   * Writes how an attempt ended. Resolves to the state of the run, or undefined if the claim was lost. Rejects only if
   * the inbox could not be written before the receiver stopped; the claim is then given back, and the run is run again.
   */
  async settle(ended: EndedAttempt): Promise<RunState | undefined> {
    const { run, span, conclusion, duration } = ended;
    const { clock, telemetry, activity, settler } = this.#parts;
    const { name } = run.handler;
    const { state, cause } = conclusion;
    const outcome = state.kind === 'due' ? 'retried' : state.kind;
    let isHeld = false;
    try {
      const failure = failureOf(run.claimed, name, conclusion, duration);
      const settle = () => settler.settle(run, conclusion, failure);
      isHeld = ended.isSettled || (await (span ? span.settle(settle) : settle())) === 'settled';
      if (!isHeld) return reportLost(telemetry, run, cause);
      report(telemetry, run, conclusion, clock.elapsed() - ended.startedAt);
      if (cause !== 'interrupted') activity.ran(name, outcome, duration, failure?.group);
      return state;
    } finally {
      if (isHeld) span?.end(outcome, cause);
      else span?.end('lost', undefined);
    }
  }

  /**
   * Most attempts are counted when they end. If the process dies during one, nobody knows which run was to blame, and a
   * run that was only waiting for its turn must not lose an attempt.
   */
  async #tryUncounted(attempt: Attempt): Promise<AttemptEnd> {
    const { run } = attempt;
    const read = await this.#read(run);
    if ('conclusion' in read) return { run, ...read };
    const wait = this.#share.whenFree(run.handler.name);
    if (wait) await wait;
    return this.#invoke(this.#parts, attempt, read.subject);
  }

  /**
   * Once a process has died over the event, each step is noted in the inbox before it is taken, first the reading, then
   * the attempt: the next crash then shows which of them is to blame. Nothing is awaited between counting the attempt
   * and calling the handler.
   */
  async #tryCounted(attempt: Attempt): Promise<AttemptEnd | undefined> {
    const { settler, onInvoked } = this.#parts;
    const { run } = attempt;
    const died = diedReading(run.claimed, run.claimed.attempts);
    if (died) return { run, conclusion: died };
    const read = await settler.readNoted(run.claimed, () => this.#read(run));
    if (!read) return undefined;
    if ('conclusion' in read) return { run, ...read };
    const claimed = await settler.countAttempt(run);
    if (!claimed) return undefined;
    // `conclude` will count the attempt, which has been counted already.
    const counted = { ...run, claimed: { ...claimed, attempts: claimed.attempts - 1 } };
    const invoked = this.#invoke(this.#parts, { ...attempt, run: counted }, read.subject);
    onInvoked?.(run);
    return invoked;
  }

  #spanOf({ handler, claimed }: Run, tracer: Tracer): AttemptSpan {
    const { traceId, callId, eventName, attempts, headers } = claimed;
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

  /** Reads what the run's function is called with. The run ends without a call if that can't be read, or need not be. */
  async #read(run: Run): Promise<{ readonly subject: Subject } | Pick<AttemptEnd, 'conclusion'>> {
    const { handler, claimed, read } = run;
    if (handler.join && claimed.callId !== undefined) {
      const call = await this.#readJoinedCall(claimed, claimed.callId, handler.join);
      if (call) return { subject: call };
      return { conclusion: conclude(run, { kind: 'done' }, this.#parts.clock.now()) };
    }
    if (read) return { subject: read };
    const reading = await readBytes(this.#parts.decoder, claimed);
    if (reading.ok) return { subject: reading.event };
    return { conclusion: unreadable(reading.reason, claimed.attempts) };
  }

  /**
   * Undefined if an earlier run of the join has seen all events that have arrived, or if the claim was lost, which the
   * settlement will find, too.
   */
  async #readJoinedCall(
    claimed: ClaimedRun,
    callId: string,
    { events }: JoinTerms,
  ): Promise<JoinedCall | undefined> {
    const { settler, store } = this.#parts;
    const view = await settler.persist(() => store.calls.noteSeen(claimed, events));
    if (!view || view.isSettled) return undefined;
    const call = callRecordOf(callId, view.events);
    const missing = events.filter((name) => !call.events.some((event) => event.name === name));
    return { ...call, complete: missing.length === 0, missing };
  }
}

/** Logs that the claim on a run has passed to another process. */
function reportLost(telemetry: Telemetry, { claimed: { traceId, handler } }: Run, cause?: string): undefined {
  telemetry.report('run_lost', { traceId, handler, cause });
}

/** Writes the one log line of a settled attempt. Reasons may contain personal data, so they stay in the inbox. */
function report(
  telemetry: Telemetry,
  { claimed }: Run,
  { state, attempts, cause, location, unreadable: reason }: Conclusion,
  duration: number,
): void {
  const { traceId, callId, eventName, handler, replay } = claimed;
  if (reason !== undefined) return telemetry.report('event_unreadable', { traceId, handler, reason });
  const fields = () => ({
    traceId,
    callId,
    eventName,
    handler,
    attempt: attempts,
    replay: replay?.id,
    duration: Math.round(duration),
    cause,
    location,
  });
  if (state.kind === 'done') telemetry.report('run_done', fields);
  if (state.kind === 'dead') telemetry.report('run_dead', fields);
  if (state.kind === 'due') telemetry.report('run_retry', { ...fields(), retryAt: retryAt(state.at) });
}

/** Absent for a run that is due at once. */
function retryAt(at: number): string | undefined {
  return at === 0 ? undefined : new Date(at).toISOString();
}
