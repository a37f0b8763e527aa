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
    // Not `Promise.race` of the work in flight: each race would add a reaction to the longest-running promise.
    const room = new Semaphore(max);
    const begin = async (item: Item, leave: () => void): Promise<void> => {
      try {
        await work(item, signal);
      } catch (error) {
        ending.abort(error);
      } finally {
        // Work that never waits would otherwise starve the event loop, and with it whatever aborts the signal.
        await setImmediate();
        leave();
      }
    };
    let leave = await room.acquire();
    try {
      for (;;) {
        // The iterator may never answer, and must not delay the abort.
        const next = await unlessAborted(signal, () => iterator.next());
        if (next.done === true) break;
        void begin(next.value, leave);
        leave = await room.acquire();
      }
    } catch (error) {
      ending.abort(error);
    }
    leave();
    // All places are free only when all work has ended.
    await Promise.all(Array.from({ length: max }, () => room.acquire()));
    if (!signal.aborted) return;
    // Neither a slow `return` nor what it throws matters any more.
    void (async () => iterator.return?.())().catch(() => {});
    throw signal.reason;
  });
}
