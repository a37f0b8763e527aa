import { describe, expect, it } from 'vitest';
import { Slots } from '../../src/kit/slots.ts';
import { bytesLeftBy } from './bytes-left.ts';

describe('slots', () => {
  it('leave nothing behind of what was taken out, which a set does', async () => {
    const [ofSlots = NaN, ofSet = NaN] = await bytesLeftBy('Slots', 'Set');
    expect(ofSlots * 30).toBeLessThan(ofSet);
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
