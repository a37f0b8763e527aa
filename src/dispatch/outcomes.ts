/** The errors by which a handler decides what happens to its run, and the outcome of an attempt that threw. */
import { RingbackError, configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import { locationThrownAt } from '../kit/error-location.ts';
import { classOf, reasonOf } from '../kit/error-text.ts';
import type { FailedOutcome } from './handler.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';

const discardMark: unique symbol = Symbol.for('ringback.Discard') as never;
const retryLaterMark: unique symbol = Symbol.for('ringback.RetryLater') as never;

/**
 * Throw it in a handler to give the run up at once: it becomes a dead letter. Returning it, because `throw` was
 * forgotten, has the same effect.
 *
 * @example throw new Discard('the customer no longer exists')
 */
export class Discard extends Error {
  override readonly name: string = 'Discard';
  readonly [discardMark] = true;

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is Discard {
    return typeof thrown === 'object' && thrown !== null && discardMark in thrown;
  }
}

/**
 * Throw it in a handler to be called again after a time of your choice, at most 366 days. The attempt counts.
 * Returning it, because `throw` was forgotten, has the same effect.
 *
 * @example throw new RetryLater('10m', 'the analysis is not ready yet')
 */
export class RetryLater extends Error {
  override readonly name: string = 'RetryLater';
  readonly [retryLaterMark] = true;
  /** Milliseconds. */
  readonly delay: number;

  constructor(delay: Duration, reason = 'the handler asked for a later attempt') {
    super(reason);
    const milliseconds = parseDuration(delay);
    if (milliseconds === undefined)
      throw configError('option_invalid', {
        option: 'RetryLater(delay)',
        expected: "the time from now on, as milliseconds or a string such as '90s', '5m' or '2h'",
        found: describe(delay),
      });
    this.delay = milliseconds;
  }

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is RetryLater {
    return typeof thrown === 'object' && thrown !== null && retryLaterMark in thrown;
  }
}

/**
 * Whether a handler has returned what it should have thrown. Never throws, whatever the handler returned: it may be an
 * object that throws when a property is read.
 */
export function isDecision(returned: unknown): boolean {
  if (typeof returned !== 'object' || returned === null) return false;
  try {
    return discardMark in returned || retryLaterMark in returned;
  } catch {
    return false;
  }
}

/** The longest delay of a `RetryLater`, in milliseconds: 366 days. */
const maxDelay = 366 * 24 * 3_600_000;

/**
 * The delay of a `RetryLater`, in whole milliseconds as due times are stored. Undefined if it isn't a valid number: the
 * run might never be due.
 */
function delayOf({ delay }: RetryLater): number | undefined {
  const whole = Math.ceil(Math.min(delay, maxDelay));
  return whole >= 0 ? whole : undefined;
}

/** The outcome of an attempt that a stop interrupted. */
export const interrupted: FailedOutcome = {
  kind: 'retry',
  delay: 0,
  counts: false,
  reason: 'the receiver stopped meanwhile',
  cause: 'interrupted',
};

/** The outcome of an attempt that missed its deadline. `delay` is until the next one. Both in milliseconds. */
export function missedDeadline(timeout: number, delay: number): FailedOutcome {
  return failed('deadline', `not finished within ${timeout} ms`, delay);
}

/**
 * The outcome of an attempt that threw. Never throws: a thrown object may itself throw when a property is read, and the
 * run must be settled nevertheless.
 */
export function outcomeOf(thrown: unknown, backoff: () => number): FailedOutcome {
  const reason = reasonOf(thrown);
  try {
    const location = locationThrownAt(thrown);
    if (Discard.is(thrown)) return { kind: 'dead', reason, cause: 'Discard', location };
    if (RetryLater.is(thrown)) return failed('RetryLater', reason, delayOf(thrown) ?? backoff(), location);
    return failed(causeOf(thrown), reason, backoff(), location);
  } catch {
    return failed('unknown', reason, backoff());
  }
}

/** One word that is safe to log. */
export function causeOf(thrown: unknown): string {
  return thrown instanceof RingbackError ? thrown.code : classOf(thrown);
}

function failed(cause: string, reason: string, delay: number, location?: string): FailedOutcome {
  return { kind: 'retry', delay, counts: true, reason, cause, location };
}
