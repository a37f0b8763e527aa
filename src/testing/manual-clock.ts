import { configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import { type Clock, systemClock } from '../kit/clock.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';

/** A clock that moves only when it is advanced. */
export interface ManualClock extends Clock {
  /** Advances the time, and calls the timers that are due by then, in order, including those that these timers set. */
  advance(duration: Duration): void;
}

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/**
 * A clock for tests, advanced by hand: pass it as the option `clock`. It starts at the machine's time, so that
 * deliveries made now are within the tolerance.
 *
 * @param start The wall time at first: a Date or milliseconds since 1970.
 * @throws ConfigError if `start` is not a time
 * @example
 * const clock = manualClock();
 * const receiver = testReceiver({ clock });
 * clock.advance('1h'); // the retry is due
 */
export function manualClock(start: Date | number = systemClock.now()): ManualClock {
  const startedAt = Number(start);
  if (!Number.isFinite(startedAt))
    throw configError('option_invalid', {
      option: 'manualClock(start)',
      expected: 'a Date or milliseconds since 1970',
      found: start instanceof Date ? 'an invalid Date' : describe(start),
    });
  const timers = new Set<Timer>();
  let elapsed = 0;

  const nextUntil = (end: number): Timer | undefined =>
    [...timers].filter((timer) => timer.at <= end).sort((left, right) => left.at - right.at)[0];

  return {
    now: () => startedAt + elapsed,
    elapsed: () => elapsed,
    after(ms, action) {
      const timer = { at: elapsed + Math.max(ms, 0), action };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(duration) {
      const end = elapsed + millisecondsOf(duration);
      for (let timer = nextUntil(end); timer; timer = nextUntil(end)) {
        timers.delete(timer);
        elapsed = timer.at;
        timer.action();
      }
      // A timer may have advanced it further.
      elapsed = Math.max(elapsed, end);
    },
  };
}

/** Numbers are not rounded: only stored times are whole milliseconds. */
function millisecondsOf(duration: Duration): number {
  const milliseconds = parseDuration(duration);
  if (milliseconds !== undefined) return typeof duration === 'number' ? duration : milliseconds;
  throw configError('option_invalid', {
    option: 'advance(duration)',
    expected: "milliseconds or a duration such as '90s'",
    found: JSON.stringify(duration),
  });
}
