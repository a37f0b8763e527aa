import type { Random } from './clock.ts';

/** How long to wait between attempts, in milliseconds. */
export interface Backoff {
  /** The longest wait before the second attempt. */
  readonly base: number;
  /** What the longest wait is multiplied by for each further attempt. */
  readonly factor: number;
  /** What the longest wait never exceeds. */
  readonly cap: number;
}

/**
 * The wait after the given attempt (counted from 1), with full jitter: anywhere between zero and the longest
 * wait, so that runs which failed together do not come back together.
 */
export function backoffAfter(attempt: number, backoff: Backoff, random: Random): number {
  // The power of a late attempt may be infinite, and a base of zero times infinity is NaN.
  const power = Math.min(backoff.factor ** (attempt - 1), Number.MAX_VALUE);
  const maxWait = Math.min(backoff.cap, backoff.base * power);
  return Math.round(random() * maxWait);
}
