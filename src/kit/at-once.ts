/**
 * Does something with each item, with at most `max` of them at once; the next item is asked for only when there is room for
 * it. What `work` or the items throw ends it, and so does the signal: nothing more is begun, and when what goes on has ended,
 * it rejects with that.
 *
 * @example await eachAtOnce(ids, { max: 4, signal }, async (id) => console.log(await read(id)));
 */
export async function eachAtOnce<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { max, signal }: { readonly max: number; readonly signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController();
  const fail = (error: unknown): void => failure.abort(error);
  const ending = AbortSignal.any([signal, failure.signal]);
  const ended = new Promise<undefined>((resolve) =>
    ending.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
  const goingOn = new Set<Promise<void>>();
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  try {
    while (!ending.aborted) {
      // Whoever gives the items may take for ever, and must not keep it from ending.
      const next = await Promise.race([iterator.next(), ended]);
      if (next === undefined || next.done === true) break;
      const begun: Promise<void> = work(next.value, ending)
        .catch(fail)
        .finally(() => goingOn.delete(begun));
      goingOn.add(begun);
      if (goingOn.size >= max) await Promise.race(goingOn);
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(goingOn);
  if (!ending.aborted) return;
  void Promise.resolve(iterator.return?.()).catch(() => {});
  throw ending.reason;
}
