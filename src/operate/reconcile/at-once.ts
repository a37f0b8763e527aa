import { setImmediate } from 'node:timers/promises';
import { underSignals, unlessAborted } from '../../kit/aborting.ts';
import { Semaphore } from '../../kit/limiters.ts';

/**
 * Calls `work` for each item, at most `max` at once. The next item is requested only when there is room for it. If
 * `work` or the items throw, or `signal` is aborted, nothing more begins; when the work in flight has ended, the
 * promise rejects with that error or reason. So `work` must end when its own signal is aborted.
 *
 * Memory doesn't grow with the number of items: nothing is kept of an item whose work has ended.
 *
 * @example await eachAtOnce(ids, { max: 4, signal }, async (id) => console.log(await read(id)));
 */
export function eachAtOnce<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { max, signal: given }: { readonly max: number; readonly signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  return underSignals([given], async (ending) => {
    const { signal } = ending;
    const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    const one = new Semaphore(1);
    let isDone = false;
    // The iterator may never answer, and must not delay the abort.
    const next = async () => {
      if (isDone) return undefined;
      const result = await unlessAborted(signal, () => iterator.next());
      isDone = result.done === true;
      return result.done === true ? undefined : result;
    };
    const goThrough = async (): Promise<void> => {
      for (let item = await one.run(next); item; item = await one.run(next)) {
        await work(item.value, signal);
        // Work that never waits would otherwise starve the event loop, and with it whatever aborts the signal.
        await setImmediate();
      }
    };
    const begun = Array.from({ length: max }, () =>
      goThrough().catch((error: unknown) => ending.abort(error)),
    );
    await Promise.all(begun);
    if (!signal.aborted) return;
    // Neither a slow `return` nor what it throws matters any more.
    void (async () => iterator.return?.())().catch(() => {});
    throw signal.reason;
  });
}
