/** The errors by which a handler decides how its run goes on. */
import { configError } from '../errors/errors.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';

const discardMark: unique symbol = Symbol.for('ringback.Discard') as never;
const retryLaterMark: unique symbol = Symbol.for('ringback.RetryLater') as never;

/**
 * Thrown by a handler to give the run up at once: the run becomes a dead letter. A handler that returns it, because
 * `throw` was forgotten, ends its run in the same way.
 *
 * @example throw new Discard('the customer no longer exists')
 */
export class Discard extends Error {
  override readonly name = 'Discard';
  readonly [discardMark] = true;

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is Discard {
    return typeof thrown === 'object' && thrown !== null && discardMark in thrown;
  }
}

/**
 * Thrown by a handler to be called again after a time that it chooses, at most 366 days. The attempt counts. A handler
 * that returns it, because `throw` was forgotten, is called again in the same way.
 *
 * @example throw new RetryLater('10m', 'the analysis is not ready yet')
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly [retryLaterMark] = true;
  /** Milliseconds. */
  readonly delay: number;

  constructor(delay: Duration, reason = 'the handler asked for a later attempt') {
    super(reason);
    const milliseconds = parseDuration(delay);
    if (milliseconds === undefined)
      throw configError('option_invalid', {
        option: 'RetryLater(delay)',
        expected: "milliseconds or a string such as '90s', '5m' or '2h'",
        found: JSON.stringify(delay),
      });
    this.delay = milliseconds;
  }

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is RetryLater {
    return typeof thrown === 'object' && thrown !== null && retryLaterMark in thrown;
  }
}

/**
 * Whether a handler has returned what it should have thrown. Never throws: a handler may return anything, even what
 * throws when it is looked at.
 */
export function isDecision(returned: unknown): boolean {
  try {
    return Discard.is(returned) || RetryLater.is(returned);
  } catch {
    return false;
  }
}

/** The longest delay that a `RetryLater` gets, in milliseconds: 366 days. */
const maxDelay = 366 * 24 * 3_600_000;

/** The delay that a `RetryLater` asks for; undefined if it isn't a valid number, or the run might never be due. */
export function delayOf({ delay }: RetryLater): number | undefined {
  return delay >= 0 ? Math.min(delay, maxDelay) : undefined;
}
