import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { Duration } from '../../kit/duration.ts';
import { durationOption } from '../options.ts';
import { type CallOptions, aSignal } from './call-options.ts';
import { PlatformError } from './platform-error.ts';
import { wait } from './retry.ts';

/** Options of operations that wait until the platform has finished something. */
export interface WaitOptions extends CallOptions {
  /** The longest wait in all, not counting the last request; 0 asks once. */
  readonly timeout?: Duration | undefined;
  /** The pause before asking again. @default '2s' */
  readonly interval?: Duration | undefined;
}

export function waitOptionsSchema(timeout: number) {
  return z.strictObject({
    signal: aSignal.optional(),
    timeout: durationOption.default(timeout),
    interval: durationOption.default(2_000),
  });
}

type Waiting = z.output<ReturnType<typeof waitOptionsSchema>>;

/**
 * Repeats `ask` until it resolves to an answer. `ask` resolves to an error while something is not ready: this error is
 * thrown when the time is over, or will be before the `Retry-After`. An error that `ask` throws ends the wait at once.
 * `ask` makes no further attempts after the deadline that it gets.
 */
export async function untilReady<Answer>(
  clock: Clock,
  { timeout, interval, signal }: Waiting,
  ask: (deadline: number) => Promise<Answer | PlatformError>,
): Promise<Answer> {
  const deadline = clock.elapsed() + timeout;
  for (;;) {
    const answer = await ask(deadline);
    if (!(answer instanceof PlatformError)) return answer;
    const { retryAfter = 0 } = answer;
    const left = deadline - clock.elapsed();
    if (left <= 0 || retryAfter > left) throw answer;
    await wait(clock, Math.min(Math.max(interval, retryAfter), left), signal);
  }
}
