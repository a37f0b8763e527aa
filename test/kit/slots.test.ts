import { describe, expect, it } from 'vitest';
import { Slots } from '../../src/kit/slots.ts';
import { bytesLeftBy } from '../support/bytes-left.ts';

/** How many bytes outlive small garbage collections while 50 of many items are in. */
function bytesLeftByItems(add: (item: number[]) => () => void): number {
  const takeOut: (() => void)[] = [];
  return bytesLeftBy((item) => {
    takeOut.push(add(item));
    if (takeOut.length > 50) takeOut.shift()?.();
  });
}

describe('slots', () => {
  it('leave nothing behind of what was taken out, which a set does', () => {
    const slots = new Slots<number[]>();
    const set = new Set<number[]>();
    const addToSet = (item: number[]) => {
      set.add(item);
      return () => set.delete(item);
    };
    expect(bytesLeftByItems((item) => slots.add(item)) * 30).toBeLessThan(bytesLeftByItems(addToSet));
  });

  it('have what was added and not taken out, also when something is taken out twice', () => {
    const slots = new Slots<{ readonly name: string }>();
    const names = () => slots.items.map(({ name }) => name).toSorted();
    const takeOutFirst = slots.add({ name: 'first' });
    slots.add({ name: 'second' });
    takeOutFirst();
    expect(names()).toEqual(['second']);
    slots.add({ name: 'third' });
    takeOutFirst();
    slots.add({ name: 'fourth' });
    expect(names()).toEqual(['fourth', 'second', 'third']);
  });
});
