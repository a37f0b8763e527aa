import { RingbackError } from '../errors/errors.ts';
import type { Clock } from '../kit/clock.ts';
import { isThenable } from '../kit/values.ts';
import { placeThrownAt } from '../kit/error-location.ts';
import { classOf, reasonOf } from '../kit/error-text.ts';
import type { Outcome, Run, RunContext } from './handling.ts';
import { delayOf, Discard, isDecision, RetryLater } from './outcomes.ts';

/** What one attempt needs besides its run. */
export interface Attempt {
  readonly run: Run;
  /** What the user's function gets: the event, or for a join the call. */
  readonly subject: Parameters<Run['handler']['handle']>[0];
  readonly context: Omit<RunContext, 'signal'>;
  /** Aborted when the receiver stops and will wait no longer. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
  /** Returns the wait after this attempt if it fails, in milliseconds. */
  readonly backoff: () => number;
}

/**
 * Calls the user's function once and returns how that ended; never throws. At its deadline an attempt is over even if
 * the function ignores its signal and goes on: `ctx.commit` is refused from then on.
 */
export function runAttempt(attempt: Attempt): Outcome | Promise<Outcome> {
  const { run, subject, context, stop } = attempt;
  if (stop.aborted) return interrupted;
  const end = new EarlyEnd();
  try {
    const returned = run.handler.handle(subject, new SignalledContext(context, end));
    return isThenable(returned)
      ? outcomeOfWork(Promise.resolve(returned), attempt, end)
      : outcomeOfReturn(returned, attempt, end);
  } catch (thrown) {
    return outcomeOfFailure(thrown, attempt, end);
  }
}

const done: Outcome = { kind: 'done' };

async function outcomeOfWork(work: Promise<unknown>, attempt: Attempt, end: EarlyEnd): Promise<Outcome> {
  try {
    return outcomeOfReturn(await settled(work, attempt, end), attempt, end);
  } catch (thrown) {
    return outcomeOfFailure(thrown, attempt, end);
  }
}

/** A decision that was returned instead of thrown: to take that for done would lose the event without notice. */
function outcomeOfReturn(returned: unknown, attempt: Attempt, end: EarlyEnd): Outcome {
  return isDecision(returned) ? outcomeOfFailure(returned, attempt, end) : done;
}

function outcomeOfFailure(thrown: unknown, { run, stop, backoff }: Attempt, end: EarlyEnd): Outcome {
  if (stop.aborted) return interrupted;
  if (end.isReached) return failed('deadline', `not finished within ${run.handler.timeout} ms`, backoff());
  return outcomeOf(thrown, backoff);
}

/** The end of an attempt by its deadline or by a stop. Its signal is made when the user's function asks for it. */
class EarlyEnd {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #onReached: (reason: Error) => void = () => {};

  get isReached(): boolean {
    return this.#reason !== undefined;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  reach(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onReached(reason);
  }

  /** Rejects when the early end is reached. */
  reached(): Promise<never> {
    return new Promise((_resolve, reject) => {
      if (this.#reason) reject(this.#reason);
      else this.#onReached = reject;
    });
  }
}

/**
 * The context of an attempt. Its signal and its logger are made at their first use: they cost as much as everything
 * else about a run, and most functions use neither. Both are own properties all the same, so that a copy of the context
 * has them. Their getters are the same functions for every run: an object with getters of its own has a hidden class of
 * its own, which holds the run until a full garbage collection.
 */
class SignalledContext implements RunContext {
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replay: RunContext['replay'];
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
  declare readonly log: RunContext['log'];
  declare readonly signal: AbortSignal;
  readonly #context: Attempt['context'];
  readonly #end: EarlyEnd;

  constructor(context: Attempt['context'], end: EarlyEnd) {
    this.attempt = context.attempt;
    this.receivedAt = context.receivedAt;
    this.replay = context.replay;
    this.call = context.call;
    this.commit = context.commit;
    this.#context = context;
    this.#end = end;
    Object.defineProperty(this, 'log', SignalledContext.#log);
    Object.defineProperty(this, 'signal', SignalledContext.#signal);
  }

  static readonly #log: PropertyDescriptor & ThisType<SignalledContext> = {
    enumerable: true,
    get() {
      return this.#context.log;
    },
  };

  static readonly #signal: PropertyDescriptor & ThisType<SignalledContext> = {
    enumerable: true,
    get() {
      return this.#end.signal;
    },
  };
}

/** Waits for what the function returns, until its deadline or the stop. */
async function settled(work: Promise<unknown>, attempt: Attempt, end: EarlyEnd): Promise<unknown> {
  const { run, stop, clock } = attempt;
  const cancelDeadline = clock.after(run.handler.timeout, () => end.reach(new Error('deadline')));
  // Linked by hand: a signal made by AbortSignal.any lives as long as the receiver's, which outlives every run.
  const interrupt = () => end.reach(new Error('the receiver is stopping'));
  try {
    // A function that had nothing to wait for needs no interruption.
    if (await isOverAtOnce(work)) return await work;
    stop.addEventListener('abort', interrupt);
    if (stop.aborted) interrupt();
    return await Promise.race([work, end.reached()]);
  } finally {
    cancelDeadline();
    stop.removeEventListener('abort', interrupt);
  }
}

async function isOverAtOnce(work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  await Promise.resolve();
  return isOver;
}

const interrupted: Outcome = {
  kind: 'retry',
  delay: 0,
  counts: false,
  reason: 'the receiver stopped meanwhile',
  cause: 'interrupted',
};

/**
 * The outcome of an attempt that threw. Never throws: what a handler has thrown may itself throw when it is looked at,
 * and the run must be settled all the same.
 */
export function outcomeOf(thrown: unknown, backoff: () => number): Outcome {
  const reason = reasonOf(thrown);
  try {
    const place = placeThrownAt(thrown);
    if (Discard.is(thrown)) return { kind: 'dead', reason, cause: 'Discard', place };
    if (RetryLater.is(thrown)) return failed('RetryLater', reason, delayOf(thrown) ?? backoff(), place);
    return failed(causeOf(thrown), reason, backoff(), place);
  } catch {
    return failed('unknown', reason, backoff());
  }
}

/** One word that is safe to log. */
function causeOf(thrown: unknown): string {
  return thrown instanceof RingbackError ? thrown.code : classOf(thrown);
}

function failed(cause: string, reason: string, delay: number, place?: string): Outcome {
  return { kind: 'retry', delay, counts: true, reason, cause, place };
}
