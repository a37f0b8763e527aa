/** Work that ends as soon as a signal is aborted, and leaves no listeners on signals that live longer. */
import type { Clock } from './clock.ts';

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that is aborted, since `work` may be a user's
 * function that ignores the signal. If the signal is aborted already, `work` isn't called.
 *
 * @example const call = await unlessAborted(signal, () => calls.get(id, { signal }));
 */
export async function unlessAborted<Result>(
  signal: AbortSignal,
  work: () => Result | PromiseLike<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  // A new promise each time: a shared one keeps everything that it was raced with for as long as it is pending.
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    // In an async function, so that a synchronous throw becomes a rejection too, and both promises are awaited.
    return await Promise.race([(async () => work())(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Calls `work` with a controller that is aborted when one of `signals` is. `AbortSignal.any` does the same, but keeps
 * the listeners of its signal for as long as the longest-lived of `signals`, such as a receiver's.
 */
export async function underSignals<Result>(
  signals: readonly (AbortSignal | undefined)[],
  work: (ending: AbortController) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  const abort = (): void => ending.abort(given.find(({ aborted }) => aborted)?.reason);
  for (const signal of given) signal.addEventListener('abort', abort, { once: true });
  if (given.some(({ aborted }) => aborted)) abort();
  try {
    return await work(ending);
  } finally {
    for (const signal of given) signal.removeEventListener('abort', abort);
  }
}

/**
 * The same with a deadline, `ms` milliseconds of the clock from now: then the controller is aborted with `late()` as the
 * reason.
 */
export function withDeadline<Result>(
  clock: Clock,
  ms: number,
  signals: readonly (AbortSignal | undefined)[],
  work: (ending: AbortController) => Promise<Result>,
  late?: () => unknown,
): Promise<Result> {
  return underSignals(signals, async (ending) => {
    const cancel = clock.after(ms, () => ending.abort(late?.()));
    try {
      return await work(ending);
    } finally {
      cancel();
    }
  });
}
