import type { Clock } from '../kit/clock.ts';
import { messageOf } from '../errors.ts';
import { Discard, type Outcome, RetryLater, type Run, type RunContext } from '../handling.ts';

/** What one attempt needs besides its run. */
export interface Attempt {
  readonly run: Run;
  /** What the user's function gets: the event, or for a join the call. */
  readonly subject: Parameters<Run['handler']['handle']>[0];
  readonly context: Omit<RunContext, 'signal'>;
  /** Aborted when the receiver stops and will wait no longer. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
  /** The wait after this attempt, should it fail, in milliseconds. */
  readonly backoff: () => number;
}

/**
 * Calls the user's function once and says how that ended; never throws. At its deadline an attempt is over
 * even if the function ignores its signal and goes on: `ctx.commit` refuses what comes after.
 */
export async function runAttempt({ run, subject, context, stop, clock, backoff }: Attempt): Promise<Outcome> {
  const controller = new AbortController();
  const { signal } = controller;
  // Linked by hand: a signal made by AbortSignal.any lives as long as the receiver's, which outlives every run.
  const interrupt = () => controller.abort(new Error('the receiver is stopping'));
  stop.addEventListener('abort', interrupt);
  const cancelDeadline = clock.after(run.handler.timeout, () => controller.abort(new Error('deadline')));
  try {
    await Promise.race([call(run, subject, { ...context, signal }), aborted(signal)]);
    return { kind: 'done' };
  } catch (thrown) {
    if (stop.aborted) return interrupted;
    if (signal.aborted) return failed('deadline', `not finished within ${run.handler.timeout} ms`, backoff());
    return outcomeOf(thrown, backoff);
  } finally {
    cancelDeadline();
    stop.removeEventListener('abort', interrupt);
  }
}

/** Asynchronous, so that a function that throws at once is no different from one that rejects. */
async function call(run: Run, subject: Attempt['subject'], context: RunContext): Promise<void> {
  await run.handler.handle(subject, context);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const refuse = () => reject(signal.reason as Error);
    if (signal.aborted) refuse();
    else signal.addEventListener('abort', refuse, { once: true });
  });
}

const interrupted: Outcome = {
  kind: 'retry',
  delay: 0,
  counts: false,
  reason: 'the receiver stopped meanwhile',
  cause: 'interrupted',
};

/** How an attempt ended that threw. Total: what a handler throws may itself throw when it is looked at, and the run must be settled all the same. */
export function outcomeOf(thrown: unknown, backoff: () => number): Outcome {
  const reason = messageOf(thrown);
  try {
    if (Discard.is(thrown)) return { kind: 'dead', reason, cause: 'Discard' };
    if (RetryLater.is(thrown)) return failed('RetryLater', reason, delayOf(thrown, backoff));
    return failed(causeOf(thrown), reason, backoff());
  } catch {
    return failed('unknown', reason, backoff());
  }
}

/** Nobody waits longer than a year, and a time that is none must not keep the run from ever being due. */
const longestDelay = 366 * 24 * 3_600_000;

function delayOf({ delay }: RetryLater, backoff: () => number): number {
  return delay >= 0 ? Math.min(delay, longestDelay) : backoff();
}

/** The error's name, where it is one word: anything else may hold what must not be logged. */
function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown;
  return /^[A-Za-z]\w{0,63}$/.test(thrown.name) ? thrown.name : 'Error';
}

function failed(cause: string, reason: string, delay: number): Outcome {
  return { kind: 'retry', delay, counts: true, reason, cause };
}
