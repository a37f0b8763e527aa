import type { Clock } from '../../kit/clock.ts';

/** Why a signal was aborted. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Does the work, but waits for it no longer than `timeout` milliseconds: then its signal is aborted. Whatever the work
 * still does or throws after that is ignored.
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
