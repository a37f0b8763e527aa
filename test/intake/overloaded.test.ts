import { expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';

/** A receiver whose inbox is behind for as long as the test says so. */
async function behind() {
  const state = { isOverloaded: true };
  const database = storeAround(':memory:', systemClock, (method) =>
    method === 'isOverloaded' ? () => state.isOverloaded as never : undefined,
  );
  return { state, ...(await started({ database })) };
}

test('while the inbox is overloaded, deliveries get 503 with Retry-After, and are accepted later', async () => {
  const { state, receiver, logs } = await behind();
  const body = bodyOf();
  const answer = await deliver(receiver, body);
  expect([answer.status, answer.json, answer.headers.get('retry-after')]).toEqual([
    503,
    { error: 'unavailable' },
    '2',
  ]);
  expect(logs.of('delivery_refused')).toMatchObject([{ code: 'unavailable', reason: 'inbox_overloaded' }]);
  state.isOverloaded = false;
  expect((await deliver(receiver, body)).json.status).toBe('accepted');
});

test('while the inbox is overloaded, refused deliveries are neither verified nor kept', async () => {
  const { receiver, logs } = await behind();
  const body = bodyOf();
  const forged = signedHeaders(body, { secrets: otherSecret });
  expect((await deliver(receiver, body, forged)).status).toBe(503);
  expect(logs.lines.map(({ event }) => event)).not.toContain('delivery_failed');
  expect((await receiver.counts()).quarantine).toEqual({ notAuthentic: 0, unreadable: 0, dropped: 0 });
});
