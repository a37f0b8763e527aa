import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { block, inTime, systemClock } from '../../src/kit/clock.ts';

test('what has come while the event loop was blocked has come in time', async () => {
  const { port1, port2 } = new MessageChannel();
  const answer = once(port1, 'message').finally(() => port1.close());
  const inTheEnd = inTime(systemClock, 1, answer, () => new Error('late'));
  port2.postMessage('here');
  block(20);
  expect(await inTheEnd).toEqual(['here']);
});

test('what has not come is late', async () => {
  const never = new Promise(() => {});
  await expect(inTime(systemClock, 1, never, () => new Error('late'))).rejects.toThrow('late');
});
