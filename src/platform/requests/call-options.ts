import type { Clock } from '../../kit/clock.ts';
import type { Duration } from '../../kit/duration.ts';
import { durationOption } from '../options.ts';
import { PlatformError } from './platform-error.ts';
import { wait } from './retry.ts';
import { z } from 'zod';
import { parseStrictly, signalOption } from '../../errors/option-problems.ts';

/** Options of every operation. */
export interface CallOptions {
  /**
   * Aborts the operation, which rejects with the signal's reason. Operations that may issue a secret, and
   * `documents.refresh`, can't be aborted once a request has been sent.
   */
  readonly signal?: AbortSignal | undefined;
}

const callOptionsSchema = z.strictObject({ signal: signalOption });

export function readCallOptions(
  options: CallOptions,
  operation: string,
): { signal?: AbortSignal | undefined } {
  return parseStrictly(callOptionsSchema, options, operation);
}

/** Options of listings that come in pages. */
export interface PageOptions {
  /** How many items to ask for in one page, 1 to 100. @default 100 */
  readonly pageSize?: number | undefined;
  /** Aborts the listing: the next step rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const expectedSize = 'a whole number from 1 to 100';
const pageOptionsSchema = z.strictObject({
  pageSize: z.int(expectedSize).min(1, expectedSize).max(100, expectedSize).default(100),
  signal: signalOption,
});

/** @throws ConfigError for an invalid option, such as a page size that the platform would answer with 400 */
export function readPageOptions(options: PageOptions, operation: string) {
  return parseStrictly(pageOptionsSchema, options, operation);
}

/** Options of operations that wait until the platform has finished something. */
export interface WaitOptions extends CallOptions {
  /** The longest wait in all, not counting the last request; 0 asks once. */
  readonly timeout?: Duration | undefined;
  /** The pause before asking again. @default '2s' */
  readonly interval?: Duration | undefined;
}

export function waitOptionsSchema(timeout: number) {
  return z.strictObject({
    signal: signalOption,
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
