// @module-tag long
import { describe, expect, it } from 'vitest';
import { SlotSet, RenewedMap } from '../../src/kit/collections.ts';
import { bytesLeftBy } from './bytes-left.ts';

describe('a renewed map', () => {
  it('frees what was deleted without a full garbage collection, which a map does not', async () => {
    const [ofRenewedMap = NaN, ofMap = NaN] = await bytesLeftBy('RenewedMap', 'Map');
    expect(ofRenewedMap * 4).toBeLessThan(ofMap);
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

describe('a set of slots', () => {
  it('leaves nothing behind of what was taken out, which a set does', async () => {
    const [ofSlotSet = NaN, ofSet = NaN] = await bytesLeftBy('SlotSet', 'Set');
    expect(ofSlotSet * 30).toBeLessThan(ofSet);
  });

  it('has what was added and not taken out, also when something is taken out twice', () => {
    const set = new SlotSet<{ readonly name: string }>();
    const names = () => set.items.map(({ name }) => name).toSorted();
    const takeOutFirst = set.add({ name: 'first' });
    set.add({ name: 'second' });
    takeOutFirst();
    expect(names()).toEqual(['second']);
    set.add({ name: 'third' });
    takeOutFirst();
    set.add({ name: 'fourth' });
    expect(names()).toEqual(['fourth', 'second', 'third']);
  });
});
