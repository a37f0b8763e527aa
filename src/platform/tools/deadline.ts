import type { Clock } from '../../kit/clock.ts';

/** Why a signal was aborted. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Does the work until it ends, or until `timeout` milliseconds are over: then its signal is aborted, and it is waited
 * for no longer. What it still does, or throws, is its own affair.
 *
 * @throws DeadlineExceeded
 */
export async function withDeadline<T>(
  clock: Clock,
  timeout: number,
  work: (stop: AbortController) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const cancel = clock.after(timeout, () => stop.abort(new DeadlineExceeded()));
  const aborted = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([work(stop), aborted]);
  } finally {
    cancel();
  }
}
