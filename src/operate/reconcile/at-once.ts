import { setImmediate } from 'node:timers/promises';
import { underSignals, unlessAborted } from '../../kit/aborting.ts';
import { Semaphore } from '../../kit/limiters.ts';

/**
 * Does something with each item, with at most `max` of them at once; the next item is asked for only when there is room for
 * it. What `work` or the items throw ends it, and so does the signal: nothing more is begun, and when what goes on has ended,
 * it rejects with that. So `work` must end when its signal is aborted.
 *
 * However many items there are, nothing is kept of one whose work has ended.
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
    // Not a race of what goes on: it would add to the one that takes longest with each of the others.
    const room = new Semaphore(max);
    const begin = async (item: Item, leave: () => void): Promise<void> => {
      try {
        await work(item, signal);
      } catch (error) {
        ending.abort(error);
      } finally {
        // Works that end without waiting for anything would leave no turn to others, nor to what ends them.
        await setImmediate();
        leave();
      }
    };
    let leave = await room.acquire();
    try {
      for (;;) {
        // Whoever gives the items may take for ever, and must not keep it from ending.
        const next = await unlessAborted(signal, () => iterator.next());
        if (next.done === true) break;
        void begin(next.value, leave);
        leave = await room.acquire();
      }
    } catch (error) {
      ending.abort(error);
    }
    leave();
    // There is room for as many as there can be when all have ended.
    await Promise.all(Array.from({ length: max }, () => room.acquire()));
    if (!signal.aborted) return;
    // Nor may it, or what it throws, once it is told that no more is wanted.
    void (async () => iterator.return?.())().catch(() => {});
    throw signal.reason;
  });
}
