// @module-tag long
import { getEventListeners } from 'node:events';
import { queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { underSignals, unlessAborted } from '../../src/kit/aborting.ts';
import { eachAtOnce } from '../../src/operate/reconcile/at-once.ts';
import { Gate } from '../support/gate.ts';

/** An item of its own class, so that those that are still in memory can be counted. */
class Item {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

const itemCount = 1_000;
const never = new Promise<never>(() => {});
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('eachAtOnce', () => {
  test('releases items whose work has ended while others continue', async () => {
    const { signal } = new AbortController();
    const longest = new Gate();
    const inMemory: number[] = [];
    const endings = new Set<AbortSignal>();
    async function* items() {
      for (let index = 0; index < itemCount; index += 1) yield new Item(index);
      inMemory.push(queryObjects(Item, { format: 'count' }));
      longest.open();
    }
    await eachAtOnce(items(), { max: 4, signal }, async ({ index }, ending) => {
      endings.add(ending);
      if (index === 0) await longest.pass();
      expect(listenersOf(ending)).toBeLessThanOrEqual(1);
    });
    expect(inMemory[0]).toBeLessThan(10);
    expect([signal, ...endings].map(listenersOf)).toEqual([0, 0]);
  });

  test('ends with what an item throws, and asks for no more', async () => {
    const { signal } = new AbortController();
    const failure = new Error('the third');
    const begun: number[] = [];
    const ended = eachAtOnce([1, 2, 3, 4, 5], { max: 1, signal }, async (item) => {
      begun.push(item);
      if (item === 3) throw failure;
    });
    await expect(ended).rejects.toBe(failure);
    expect(begun).toEqual([1, 2, 3]);
    expect(listenersOf(signal)).toBe(0);
  });

  test('ends with its reason even if the source of the items throws on return', async () => {
    const ending = new AbortController();
    const items = {
      [Symbol.asyncIterator]: () => ({
        next: () => never,
        return: () => {
          throw new Error('not now');
        },
      }),
    };
    const ended = eachAtOnce(items, { max: 4, signal: ending.signal }, async () => {});
    ending.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
  });
});

describe('unlessAborted', () => {
  test('ends with the reason of the signal, whatever the work does', async () => {
    const ending = new AbortController();
    const ended = unlessAborted(ending.signal, () => never);
    expect(listenersOf(ending.signal)).toBe(1);
    ending.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    expect(listenersOf(ending.signal)).toBe(0);
    const called: string[] = [];
    await expect(unlessAborted(ending.signal, () => called.push('work'))).rejects.toThrow('enough');
    expect(called).toEqual([]);
  });

  test('a work that ends the signal and throws is one rejection, and no other is left unheeded', async () => {
    const ending = new AbortController();
    const ended = unlessAborted(ending.signal, () => {
      ending.abort(new Error('enough'));
      throw new Error('thrown');
    });
    await expect(ended).rejects.toThrow(/enough|thrown/);
  });
});

test('underSignals follows each of the signals, and leaves nothing at them', async () => {
  const [first, second] = [new AbortController(), new AbortController()];
  await underSignals([first.signal, undefined, second.signal], async ({ signal }) => {
    expect([first, second].map((given) => listenersOf(given.signal))).toEqual([1, 1]);
    second.abort(new Error('enough'));
    expect(signal.reason).toEqual(new Error('enough'));
  });
  expect([first, second].map((given) => listenersOf(given.signal))).toEqual([0, 0]);
  await underSignals([second.signal], async ({ signal }) => expect(signal.aborted).toBe(true));
});
