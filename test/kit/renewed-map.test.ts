import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { RenewedMap } from '../../src/kit/renewed-map.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/** The bytes that outlive small garbage collections. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return old?.space_used_size ?? 0;
}

/** How many bytes outlive small garbage collections while 40,000 entries of some 800 bytes come and go. */
function bytesLeftBy(
  map: Pick<Map<number, unknown>, 'set' | 'delete'> | RenewedMap<number, unknown>,
): number {
  for (let key = -50; key < 0; key += 1) map.set(key, 'in use');
  collectGarbage();
  const before = oldBytes();
  for (let key = 0; key < 40_000; key += 1) {
    map.set(
      key,
      Array.from({ length: 100 }, () => key),
    );
    map.delete(key - 50);
    if (key % 1_000 === 0) collectGarbage({ type: 'minor' });
  }
  return oldBytes() - before;
}

describe('a renewed map', () => {
  it('lets go of what was deleted without a full garbage collection, which a map does not', () => {
    expect(bytesLeftBy(new RenewedMap()) * 4).toBeLessThan(bytesLeftBy(new Map()));
  });

  it('has what was set and not deleted, in its order, however much comes and goes', () => {
    const map = new RenewedMap<number, string>();
    map.set(-1, 'first');
    for (let key = 0; key < 10_000; key += 1) {
      map.set(key, `value ${key}`);
      if (key % 3 > 0) map.delete(key);
    }
    expect(map.size).toBe(1 + 3_334);
    expect([...map.keys()].slice(0, 4)).toEqual([-1, 0, 3, 6]);
    expect([...map.values()].slice(-2)).toEqual(['value 9996', 'value 9999']);
    expect([map.get(-1), map.get(9_999), map.get(1)]).toEqual(['first', 'value 9999', undefined]);
    expect([map.has(3), map.has(4)]).toEqual([true, false]);
    map.clear();
    expect([map.size, map.has(3)]).toEqual([0, false]);
  });
});
