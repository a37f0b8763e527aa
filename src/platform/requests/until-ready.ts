import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { Duration } from '../../kit/duration.ts';
import { durationOption } from '../options.ts';
import { type CallOptions, aSignal } from './call-options.ts';
import { PlatformError } from './platform-error.ts';
import { wait } from './retry.ts';

/** Options of operations that wait for what the platform is still working on. */
export interface WaitOptions extends CallOptions {
  /** How long to wait in all, not counting the last request; 0 asks once. */
  readonly timeout?: Duration | undefined;
  /** How long to wait before asking again. @default '2s' */
  readonly interval?: Duration | undefined;
}

/** The schema of such options, with the operation's own longest wait, in milliseconds. */
export function waitOptionsSchema(timeout: number) {
  return z.strictObject({
    signal: aSignal.optional(),
    timeout: durationOption.default(timeout),
    interval: durationOption.default(2_000),
  });
}

/** The options with everything filled in. */
type Waiting = z.output<ReturnType<typeof waitOptionsSchema>>;

/**
 * Asks until the answer is no error. `ask` resolves to the error that says what is not ready: it is thrown if the time is
 * over, or will be before the platform wants to be asked again. What `ask` throws ends the wait at once. `ask` makes no
 * further attempts after the deadline that it gets.
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
