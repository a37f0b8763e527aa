import { setImmediate } from 'node:timers/promises';
import { underSignals, unlessAborted } from '../../kit/aborting.ts';

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
    const works = { goingOn: 0, onEnd: (): void => {} };
    const begin = async (item: Item): Promise<void> => {
      works.goingOn += 1;
      try {
        await work(item, signal);
      } catch (error) {
        ending.abort(error);
      } finally {
        // Works that end without waiting for anything would leave no turn to others, nor to what ends them.
        await setImmediate();
        works.goingOn -= 1;
        works.onEnd();
      }
    };
    // Not a race of what goes on: it would add to the one that takes longest with each of the others.
    const untilFewerThan = async (count: number): Promise<void> => {
      while (works.goingOn >= count) {
        const { promise, resolve } = Promise.withResolvers<void>();
        works.onEnd = resolve;
        await promise;
      }
    };
    try {
      while (!signal.aborted) {
        // Whoever gives the items may take for ever, and must not keep it from ending.
        const next = await unlessAborted(signal, () => iterator.next());
        if (next.done === true) break;
        void begin(next.value);
        await untilFewerThan(max);
      }
    } catch (error) {
      ending.abort(error);
    }
    await untilFewerThan(1);
    if (!signal.aborted) return;
    // Nor may it, or what it throws, once it is told that no more is wanted.
    void (async () => iterator.return?.())().catch(() => {});
    throw signal.reason;
  });
}
