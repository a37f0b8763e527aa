import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import type { SchemeName, ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { respelled } from '../support/respelled.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** The scheme of a delivery that was sent as a test, and the one in which the platform signs. */
const tested: SchemeName = 't-v1-hex-whole';
const platform: SchemeName = 'v1-hex-suffix';

/** A receiver in which an event of the first scheme has pinned, and a function that sends a new event in any. */
async function pinned(options: ReceiverOptions = {}) {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, ...options });
  const send = async (scheme: SchemeName, body = bodyOf()) => {
    clock.advance(1_000);
    const headers = signedHeaders(body, { scheme, timestamp: clock.now() });
    return (await deliver(receiver, body, headers)).json.status ?? 'refused';
  };
  expect(await send(tested)).toBe('accepted');
  return { receiver, logs, clock, send };
}

describe('quarantine.reverify, when the platform signs in another scheme than the one that is pinned', () => {
  test('moves the pin, and releases what was refused, however long ago', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const { receiver, logs, clock, send } = await pinned({ database });
    const first = bodyOf();
    for (const body of [first, first, bodyOf(), 'not json'])
      expect(await send(platform, body)).toBe('refused');
    clock.advance(5 * 3_600_000);
    expect(await receiver.quarantine.reverify()).toEqual({
      checked: 4,
      released: 2,
      cut: 0,
      duplicates: 1,
      unreadable: 0,
      remaining: 1,
    });
    expect(logs.of('scheme_pinned').at(-1)).toMatchObject({ option: `signature: '${platform}'` });
    expect(await send(platform)).toBe('accepted');
    expect(await send(tested)).toBe('refused');
    // Under the scheme that counts now, the last one is authentic, and unreadable.
    expect(await receiver.quarantine.reverify()).toMatchObject({ unreadable: 1, remaining: 1 });
  });

  test('does so although events were read back from the platform meanwhile', async () => {
    const { receiver, clock, send } = await pinned();
    for (let index = 0; index < 2; index += 1) await send(platform);
    clock.advance(1_000);
    const start = new Date(clock.now() - 60_000).toISOString();
    const call = { _id: 'call-1', call_status: 'ongoing', call_start_time: start };
    const [calls, analyses] = [{ get: async () => call }, { get: async () => ({}) }];
    const reconciled = await receiver.reconcile({ since: '2h', ids: () => ['call-1'], calls, analyses });
    expect(reconciled.recorded).toBe(1);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 2, remaining: 0 });
    expect(await send(platform)).toBe('accepted');
  });

  test(
    'does so for the other processes too, at the next delivery that they would refuse',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const { send } = await pinned({ database });
      for (let index = 0; index < 2; index += 1) await send(platform);
      const beside = await started({ database });
      expect(await beside.receiver.quarantine.reverify()).toMatchObject({ released: 2, remaining: 0 });
      expect(await send(platform)).toBe('accepted');
    },
  );

  test.each([
    ['one event alone', async (send: Send) => void (await send(platform))],
    [
      'copies of one event',
      async (send: Send) => {
        const body = bodyOf();
        for (let index = 0; index < 3; index += 1) await send(platform, body);
      },
    ],
    [
      'events that the pinned scheme has outlived',
      async (send: Send) => {
        for (let index = 0; index < 2; index += 1) await send(platform);
        expect(await send(tested)).toBe('accepted');
      },
    ],
  ])('leaves the pin alone for %s', async (_, attack) => {
    const { receiver, logs, send } = await pinned();
    await attack(send);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0 });
    expect(logs.of('scheme_pinned')).toHaveLength(1);
    expect(await send(tested)).toBe('accepted');
  });

  test('old deliveries that are stored never bring their scheme back', { tags: 'long' }, async () => {
    const { receiver, logs, clock, send } = await pinned();
    const old = [bodyOf(), bodyOf(), bodyOf()];
    for (const body of old) await send(platform, body);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 3 });
    // The platform changes to a scheme that signs the time.
    const changed = async () => {
      clock.advance(1_000);
      const body = bodyOf();
      const scheme = 'standard-webhooks-whole';
      const headers = signedHeaders(body, { scheme, traceId: 'trace-1', timestamp: clock.now() });
      return (await deliver(receiver, body, headers)).json.status ?? 'refused';
    };
    expect([await changed(), await changed()]).toEqual(['refused', 'refused']);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 2 });
    expect(await changed()).toBe('accepted');
    for (const body of old) expect(await send(platform, body)).toBe('refused');
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0, duplicates: 3, remaining: 0 });
    expect(logs.of('scheme_pinned').at(-1)).toMatchObject({ option: "signature: 'standard-webhooks-whole'" });
    expect(await changed()).toBe('accepted');
  });

  test('what was too old when it arrived moves nothing', async () => {
    const { receiver, clock, send } = await pinned();
    for (let index = 0; index < 2; index += 1) {
      const body = bodyOf();
      const scheme = 'v1-timestamp-hex-suffix';
      const headers = signedHeaders(body, { scheme, timestamp: clock.now() - 3_600_000 });
      expect((await deliver(receiver, body, headers)).status).toBe(401);
    }
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0, remaining: 2 });
    expect(await send(tested)).toBe('accepted');
  });

  test('captured deliveries that are cut apart for another scheme move nothing', async () => {
    const { receiver, clock, send } = await pinned();
    for (let index = 0; index < 2; index += 1) {
      const body = bodyOf();
      const headers = signedHeaders(body, { scheme: tested, timestamp: clock.now() });
      const [, t] = /^t=(\d+),/.exec(headers['x-webhook-signature'] ?? '') ?? [];
      await deliver(receiver, `${t}.${body}`, respelled(headers, tested, 'v1-hex-whole'));
    }
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0, unreadable: 0, remaining: 2 });
    expect(await send(tested)).toBe('accepted');
  });

  test('an option stays as it is', async () => {
    const { receiver, send } = await pinned({ signature: tested });
    for (let index = 0; index < 2; index += 1) await send(platform);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0, remaining: 2 });
    expect(await send(platform)).toBe('refused');
  });
});

type Send = (scheme: SchemeName, body?: string) => Promise<string>;
