/** What waits for a disk whose syncs don't end, tested below the receiver: no disk here is that slow. */
import { expect, test } from 'vitest';
import { inTime } from '../../../src/store/sqlite/connection/in-time.ts';
import { ManualClock, turn } from '../../support/clock.ts';

/** A write of the main thread's that ends when the test says so. */
function slowWrite() {
  const { promise, resolve } = Promise.withResolvers<string>();
  const clock = new ManualClock();
  return { clock, written: inTime(promise, clock), end: () => resolve('written') };
}

test('a write that a delivery needs is waited for no longer than its sender waits', async () => {
  const { clock, written } = slowWrite();
  clock.advance(700);
  clock.advance(50);
  await expect(written).rejects.toThrow('the disk did not take it in time');
});

test('one that the disk takes in time counts', async () => {
  const { clock, written, end } = slowWrite();
  clock.advance(699);
  await turn();
  end();
  await expect(written).resolves.toBe('written');
});

test('one whose result is here when its time is over counts: the event loop was slow, and not the disk', async () => {
  const { clock, written, end } = slowWrite();
  clock.advance(700);
  await turn();
  end();
  await expect(written).resolves.toBe('written');
});
