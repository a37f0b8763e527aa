import type { Logger } from 'pino';
import { type CallRecord, callRecordOf } from '../calls/timeline.ts';
import type { CallEvent } from '../events/model.ts';
import { backoffAfter } from '../kit/duration.ts';
import { digestUuid } from '../kit/bytes.ts';
import type { Random } from '../kit/clock.ts';
import { isThenable } from '../kit/values.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { CallStore } from '../store/call-store.ts';
import { Commit, type CommitParts, reportFailedCommit } from './commit.ts';
import { EarlyEnd, reportIfBlocking, untilEnd } from './deadline.ts';
import type { FailedOutcome, JoinedCall, Outcome, RunContext } from './handler.ts';
import { interrupted, isDecision, missedDeadline, outcomeOf } from './outcomes.ts';
import { type Attempt, type AttemptEnd, type Run, conclude } from './run.ts';

export interface InvocationParts extends CommitParts {
  readonly store: { readonly calls: Pick<CallStore, 'eventsOf'> };
  readonly logger: Logger;
  readonly random: Random;
}

/** What the user's function is called with. */
export type Subject = CallEvent | JoinedCall;

/**
 * Calls the user's function, before anything is awaited, and waits until the attempt is over. At its deadline it is
 * over even if the function ignores its signal and goes on: `ctx.commit` is refused from then on.
 */
export async function invoke(
  parts: InvocationParts,
  attempt: Attempt,
  subject: Subject,
): Promise<AttemptEnd> {
  const { run } = attempt;
  const { clock, stop, telemetry } = parts;
  const backoff = () => backoffAfter(run.claimed.attempts + 1, run.handler.retry, parts.random);
  const end = new EarlyEnd();
  const commit = new Commit(parts, attempt, end);
  let outcome: Outcome = { kind: 'done' };
  try {
    await callHandler(parts, attempt, subject, end, commit);
  } catch (thrown) {
    if (stop.aborted) outcome = interrupted;
    else if (end.isReached) outcome = missedDeadline(run.handler.timeout, backoff());
    else outcome = outcomeOf(thrown, backoff);
  }
  const committed = await commit.ended();
  if (committed === 'committed') {
    if (outcome.kind !== 'done') reportAfterCommit(telemetry, run, outcome);
    return { run, conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: true };
  }
  const failure = committed === 'nothing' ? undefined : outcomeOf(committed.failed, backoff);
  if (outcome.kind === 'done') return { run, conclusion: conclude(run, failure ?? outcome, clock.now()) };
  // If the handler fails for another reason, its outcome hides that the commit, which it didn't await, failed too.
  if (failure && failure.reason !== outcome.reason) reportFailedCommit(telemetry, run, failure);
  return { run, conclusion: conclude(run, outcome, clock.now()) };
}

/** Logs that a handler failed after its commit: what it left undone is not retried, so a person has to know. */
function reportAfterCommit(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  { cause, location }: FailedOutcome,
): void {
  telemetry.report('run_failed_after_commit', { traceId, handler, cause, location });
}

/** Resolves when the user's function has ended. Rejects with what it threw, or if the attempt ends early. */
async function callHandler(
  parts: InvocationParts,
  { run, span }: Attempt,
  subject: Subject,
  end: EarlyEnd,
  commit: Commit,
): Promise<void> {
  const { logger, clock, stop } = parts;
  const { handler } = run;
  stop.throwIfAborted();
  const call = () => callSoFar(parts, run, commit);
  const context = new AttemptContext(run, { logger, end, call, commit: commit.commit });
  const calledAt = clock.elapsed();
  let returned: unknown;
  try {
    returned = span ? span.handle(() => handler.handle(subject, context)) : handler.handle(subject, context);
  } finally {
    reportIfBlocking(parts, run, calledAt);
  }
  if (isThenable(returned)) {
    returned = await untilEnd(Promise.resolve(returned), end, { timeout: handler.timeout, stop, clock });
  }
  // A decision that was returned instead of thrown. Taking that for done would silently lose the event.
  if (returned !== undefined && isDecision(returned)) throw returned;
}

/** The record of the run's call, computed from its events so far. */
async function callSoFar(
  { store }: InvocationParts,
  { claimed: { callId } }: Run,
  { database }: Commit,
): Promise<CallRecord | undefined> {
  if (callId === undefined) return undefined;
  const events = await store.calls.eventsOf(callId, database);
  // A call that was erased meanwhile has no events.
  return events.length === 0 ? undefined : callRecordOf(callId, events);
}

interface ContextParts {
  readonly logger: Logger;
  /** Its signal is read only when the user's function reads `ctx.signal`. */
  readonly end: { readonly signal: AbortSignal };
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
}

/**
 * The second argument of the user's function. Signal, logger and key are made on first use: they cost as much as
 * everything else about a run, and most functions use none. They are own properties nevertheless, so that a copy of the
 * context has them. All runs share the same getters: an object with getters of its own gets a hidden class of its own,
 * which keeps the run in memory until a full garbage collection.
 */
class AttemptContext implements RunContext {
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replay: RunContext['replay'];
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
  declare readonly idempotencyKey: RunContext['idempotencyKey'];
  declare readonly log: RunContext['log'];
  declare readonly signal: AbortSignal;
  readonly #run: Run;
  readonly #logger: Logger;
  readonly #end: ContextParts['end'];
  #log: Logger | undefined;

  constructor(run: Run, { logger, end, call, commit }: ContextParts) {
    const { attempts, receivedAt, replay } = run.claimed;
    this.attempt = attempts + 1;
    this.receivedAt = new Date(receivedAt);
    this.replay = replay;
    this.call = call;
    this.commit = commit;
    this.#run = run;
    this.#logger = logger;
    this.#end = end;
    Object.defineProperty(this, 'idempotencyKey', AttemptContext.#keyProperty);
    Object.defineProperty(this, 'log', AttemptContext.#logProperty);
    Object.defineProperty(this, 'signal', AttemptContext.#signalProperty);
  }

  static readonly #keyProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      const { join } = this.#run.handler;
      const { traceId, callId, handler } = this.#run.claimed;
      // As JSON: otherwise two pairs of names could make one text. The run of a join may belong to any of its events,
      // so its key follows from the call.
      const subject = join && callId !== undefined ? ['call', callId] : [traceId];
      return digestUuid(JSON.stringify([...subject, handler]));
    },
  };

  static readonly #logProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      const { traceId, callId, handler } = this.#run.claimed;
      return (this.#log ??= this.#logger.child({ traceId, callId, handler }));
    },
  };

  static readonly #signalProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      return this.#end.signal;
    },
  };
}
