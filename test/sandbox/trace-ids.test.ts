import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { subscribed } from './delivery-subscription.ts';
import { type Received, destination, headersNamed } from './destination.ts';
import { startedSandbox } from './support.ts';

const speed = 10_000;

/** Plays one call to three subscriptions; what each of them got, in the order of their creation. */
async function deliveredTo3(options: SandboxOptions = {}) {
  const sandbox = await startedSandbox({ speed, callSeed: 'trace ids', ...options });
  const destinations = [await destination(), await destination(), await destination()];
  const events = ['CallHandler.CallEnded'];
  for (const { url } of destinations) await subscribed(sandbox, url, { events });
  const call = await sandbox.calls.play({ scenario: 'unanalysed' });
  const own = call.events.find(({ eventName }) => eventName === 'CallHandler.CallEnded')?.traceId;
  return { sandbox, own, received: destinations.flatMap((place) => place.received) };
}

const idsIn = (received: readonly Received[]) => headersNamed(received, 'x-webhook-traceid');

test('each subscription gets an event under a trace id of its own', async () => {
  const { own, received } = await deliveredTo3();
  const ids = idsIn(received);
  expect(ids).toHaveLength(3);
  expect(ids[0]).toBe(own);
  expect(new Set(ids).size).toBe(3);
  expect(received.map(({ json }) => json['traceId'])).toEqual(ids);
  const [first, ...others] = received.map(({ json: { traceId: _traceId, ...rest } }) => rest);
  for (const other of others) expect(other).toEqual(first);
});

test('the same seed gives the same trace ids', async () => {
  const [one, two] = [await deliveredTo3(), await deliveredTo3()];
  expect(idsIn(one.received)).toEqual(idsIn(two.received));
});

test("with traceIds 'event' all subscriptions get one trace id for each event", async () => {
  const { own, received } = await deliveredTo3({ traceIds: 'event' });
  expect(idsIn(received)).toEqual([own, own, own]);
  expect(received.map(({ json }) => json['traceId'])).toEqual([own, own, own]);
});

test('a flat transfer has its trace id in the header only', async () => {
  const sandbox = await startedSandbox({ speed });
  const destinations = [await destination(), await destination()];
  for (const { url } of destinations)
    await subscribed(sandbox, url, { events: ['CallHandler.CallTransferred'] });
  await sandbox.calls.play({ scenario: 'transferred', transferBody: 'flat' });
  const received = destinations.flatMap((place) => place.received);
  expect(new Set(idsIn(received)).size).toBe(2);
  expect(received.map(({ json }) => 'traceId' in json)).toEqual([false, false]);
});

test('every attempt of a delivery has its trace id, also after a restart', async () => {
  const database = temporaryDatabase();
  const first = await startedSandbox({ speed, database });
  const destinations = [await destination(() => 500), await destination(() => 500)];
  for (const { url } of destinations) await subscribed(first, url, { events: ['CallHandler.CallEnded'] });
  await first.calls.play({ scenario: 'unanalysed' });
  await first.stop();
  const second = await startedSandbox({ speed, database });
  const attempts = second.attempts.list();
  expect(attempts).toHaveLength(8);
  expect(new Set(attempts.map(({ traceId }) => traceId)).size).toBe(2);
  expect(new Set(attempts.map(({ traceId, subscriptionId }) => traceId + subscriptionId)).size).toBe(2);
  const given = second.deliveries.givenUp().map(({ traceId }) => traceId);
  expect(new Set(given)).toEqual(new Set(attempts.map(({ traceId }) => traceId)));
});

test('trace ids are of deliveries or of events', () => {
  const options = { traceIds: 'call' as unknown as 'event' };
  expect(() => createSandbox(options)).toThrow(expect.objectContaining({ code: 'option_invalid' }));
});
