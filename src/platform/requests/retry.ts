import { backoffAfter } from '../../kit/duration.ts';
import { type Clock, refProcess, pause } from '../../kit/clock.ts';
import type { ResolvedPlatformOptions } from '../options.ts';
import { PlatformError } from './platform-error.ts';
import { type PlatformRequest, isRead, isUndone, passing } from './request.ts';

/**
 * How long to wait before the next attempt, in milliseconds; undefined if there is none.
 *
 * Reads are retried after every temporary failure. A write is retried only if it was certainly not done: it was never
 * sent, or was refused before any work with 429, or 503 with a `Retry-After`. After a timeout, a broken connection, a
 * 500 or another 503 it may have been done, and another attempt could create a second subscription or tool.
 */
export function waitBefore(
  request: PlatformRequest,
  error: unknown,
  attempt: number,
  { retry, random, clock }: Pick<ResolvedPlatformOptions, 'retry' | 'random' | 'clock'>,
): number | undefined {
  if (attempt >= retry.attempts || !(error instanceof PlatformError) || !mayPass(request, error))
    return undefined;
  const { retryAfter = 0 } = error;
  if (retryAfter > retry.cap) return undefined;
  // With jitter, because all clients with the same `Retry-After` would otherwise come back at once.
  const delay = Math.min(retryAfter + backoffAfter(attempt, retry, random), retry.cap);
  return clock.elapsed() + delay < (request.deadline ?? Infinity) ? delay : undefined;
}

function mayPass(request: PlatformRequest, error: PlatformError): boolean {
  const { finalStatuses = [] } = request;
  const { status, code, neverSent, retryAfter } = error;
  const mayBeRepeated = isRead(request);
  if (status === undefined)
    return neverSent || (mayBeRepeated && (code === 'unreachable' || code === 'timeout'));
  if (finalStatuses.includes(status)) return false;
  return isUndone(status, retryAfter) || (mayBeRepeated && passing.has(status));
}

/** The error of the last attempt. After several attempts, its message says how many. */
export function afterAttempts(error: unknown, attempts: number): unknown {
  if (attempts === 1 || !(error instanceof PlatformError)) return error;
  return new PlatformError(`${error.message} It was tried ${attempts} times.`, error);
}

/** A `Retry-After` in milliseconds, from seconds or a date (RFC 9110, 10.2.3); undefined if it is neither. */
export function readRetryAfter(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  const value = text.trim();
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = value.endsWith(' GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Like `pause`, but keeps the process alive, since the request is not over, and rejects when the signal is aborted. */
export async function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const unref = refProcess();
  await pause(clock, ms, signal);
  unref();
  signal?.throwIfAborted();
}
