/** The waits between the attempts of a run, and between those of a request to the platform. */
import type { Random } from './clock.ts';

/** How long to wait between attempts, in milliseconds. */
export interface Backoff {
  /** The longest wait before the second attempt. */
  readonly base: number;
  /** The factor by which the longest wait grows with each further attempt. */
  readonly factor: number;
  /** The upper bound of the longest wait. */
  readonly cap: number;
}

/**
 * The wait after the given attempt (counted from 1), with full jitter: anywhere between zero and the longest wait, so
 * that runs that failed together are not retried together.
 */
export function backoffAfter(attempt: number, backoff: Backoff, random: Random): number {
  // The power of a late attempt may be infinite, and a base of zero times infinity is NaN.
  const power = Math.min(backoff.factor ** (attempt - 1), Number.MAX_VALUE);
  const maxWait = Math.min(backoff.cap, backoff.base * power);
  return Math.round(random() * maxWait);
}
