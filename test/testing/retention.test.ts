import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { buildDelivery, deliver, manualClock, testReceiver } from '../../src/testing/index.ts';
import { whenHandled } from '../support/when-handled.ts';

it('a manual clock brings on the removal of events, in a loop that lets each cleaning end', async () => {
  const clock = manualClock();
  const receiver = testReceiver({ clock, retention: { done: '30d' } }).on('*', () => {});
  await receiver.start();
  onTestFinished(() => receiver.stop());
  await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1', timestamp: clock.now() }));
  await whenHandled(receiver, 'trace-1');
  const cleanings = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      clock.advance('1m');
      await setImmediate();
    }
  };
  clock.advance('29d');
  await cleanings(10);
  expect(await receiver.events.get('trace-1')).toBeDefined();
  clock.advance('1d');
  await cleanings(10);
  expect(await receiver.events.get('trace-1')).toBeUndefined();
});
