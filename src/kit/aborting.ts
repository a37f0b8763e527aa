/** Work that ends as soon as a signal is aborted, and leaves nothing behind at signals that live longer than it. */

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that is aborted: `work` may be a function of the
 * user, which need not heed a signal. With a signal that is aborted already, `work` isn't called.
 *
 * @example const call = await unlessAborted(signal, () => calls.get(id, { signal }));
 */
export async function unlessAborted<Result>(
  signal: AbortSignal,
  work: () => Result | PromiseLike<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  // A promise of its own for each work: one that is shared keeps what was raced with it for as long as it is pending.
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    // In a function of its own, so that what it throws at once is a rejection too, and both promises are heeded.
    return await Promise.race([(async () => work())(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Gives `work` a controller that is aborted when one of `signals` is. `AbortSignal.any` does the same, but what listens to its
 * signal is kept for as long as the longest-lived of `signals`, such as a receiver's.
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
