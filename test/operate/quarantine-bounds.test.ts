// @module-tag long
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { type SignParts, bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import type { SchemeName, ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';

/** A receiver with a manual clock, and a function that sends deliveries that are not authentic. */
async function besieged() {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock });
  const forged = { 'content-type': 'application/json', 'x-webhook-signature': `v1=${'0'.repeat(64)}` };
  const send = (body: string) => deliver(receiver, body, forged);
  return { receiver, logs, clock, send };
}

describe('the disk space for deliveries that are not authentic', () => {
  test('is bounded by count: the oldest go first, and are counted', async () => {
    const { receiver, logs, clock, send } = await besieged();
    for (let index = 0; index < 1_010; index += 1) {
      expect((await send(`delivery ${index}`)).status).toBe(401);
      clock.advance(100);
    }
    expect((await receiver.counts()).quarantine).toEqual({ notAuthentic: 1_000, unreadable: 0, dropped: 10 });
    const { deliveries } = await receiver.quarantine.list({ limit: 1_000 });
    const oldest = await receiver.quarantine.get(deliveries.at(-1)?.id ?? 0);
    expect(Buffer.from(oldest?.body ?? []).toString()).toBe('delivery 10');
    expect(logs.of('quarantine_dropped').length).toBeGreaterThan(0);
  });

  test('is bounded by bytes', async () => {
    const { receiver, clock, send } = await besieged();
    const large = 'x'.repeat(5 * 1024 ** 2);
    for (let index = 0; index < 12; index += 1) {
      await send(large);
      clock.advance(5_000);
    }
    const { notAuthentic, dropped } = (await receiver.counts()).quarantine;
    // Ten such bodies would fill the bound exactly, but the headers count as well.
    expect({ notAuthentic, dropped }).toEqual({ notAuthentic: 9, dropped: 3 });
  });

  test('is bounded by bytes, of which exactly as many may be taken', async () => {
    const { receiver, clock, send } = await besieged();
    await send('');
    const { deliveries } = await receiver.quarantine.list();
    const kept = await receiver.quarantine.get(deliveries[0]?.id ?? 0);
    const bytesOfHeaders = JSON.stringify(kept?.headers).length;
    await receiver.quarantine.discard(kept?.id ?? 0);
    const tenth = 'x'.repeat(5 * 1024 ** 2 - bytesOfHeaders);
    for (let index = 0; index < 10; index += 1) {
      await send(tenth);
      clock.advance(5_000);
    }
    expect((await receiver.counts()).quarantine).toMatchObject({ notAuthentic: 10, dropped: 0 });
    await send('');
    expect((await receiver.counts()).quarantine).toMatchObject({ notAuthentic: 10, dropped: 1 });
  });

  test('is bounded by rate: ten a second, however long the flood lasts', async () => {
    const { receiver, clock, send } = await besieged();
    const flood = async () => {
      for (let index = 0; index < 120; index += 1) await send('forged');
      return (await receiver.counts()).quarantine.notAuthentic;
    };
    const kept = [await flood()];
    for (let second = 1; second <= 3; second += 1) {
      clock.advance(1_000);
      kept.push(await flood());
    }
    expect(kept).toEqual([100, 110, 120, 130]);
  });

  test('is bounded by rate: what comes too fast is counted with the next one kept', async () => {
    const { receiver, logs, clock, send } = await besieged();
    for (let index = 0; index < 150; index += 1) expect((await send(`delivery ${index}`)).status).toBe(401);
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(100);
    clock.advance(1_000);
    await send('one more');
    expect((await receiver.counts()).quarantine).toEqual({ notAuthentic: 101, unreadable: 0, dropped: 50 });
    expect(logs.of('quarantine_dropped')).toMatchObject([{ count: 1 }]);
    clock.advance(60_000);
    await send('and another');
    expect(logs.of('quarantine_dropped')).toMatchObject([{ count: 1 }, { count: 49 }]);
  });

  test('never touches what is authentic but unreadable', async () => {
    const { receiver, clock, send } = await besieged();
    const unreadable = 'not json';
    await deliver(receiver, unreadable, signedHeaders(unreadable, { timestamp: clock.now() }));
    for (let index = 0; index < 12; index += 1) {
      await send('x'.repeat(5 * 1024 ** 2));
      clock.advance(5_000);
    }
    expect((await receiver.counts()).quarantine.unreadable).toBe(1);
  });
});

const platformHeaders = { 'x-webhook-event': 'CallHandler.CallEnded', 'x-webhook-traceid': 'trace' };

describe('the suspicion of a rotated secret', () => {
  /** A delivery like the platform's own, but signed with another secret. */
  const genuine = (body = bodyOf()): { body: string; headers: Record<string, string> } => ({
    body,
    headers: { ...signedHeaders(body, { secrets: otherSecret }), ...platformHeaders },
  });

  async function watched() {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock });
    const refuse = async (times: number, parts = genuine) => {
      for (let index = 0; index < times; index += 1) {
        const { body, headers } = parts();
        expect((await deliver(receiver, body, headers)).status).toBe(401);
      }
    };
    return { receiver, clock, refuse, alarms: () => logs.of('secret_rotation_suspected').length };
  }

  test('is logged once per streak of five after a delivery that verified, and again after the next', async () => {
    const { receiver, clock, refuse, alarms } = await watched();
    await deliver(receiver);
    await refuse(4);
    expect(alarms()).toBe(0);
    await refuse(10);
    expect(alarms()).toBe(1);
    clock.advance(60_000);
    await deliver(receiver);
    await refuse(4);
    await deliver(receiver);
    await refuse(4);
    expect(alarms()).toBe(1);
    await refuse(1);
    expect(alarms()).toBe(2);
  });

  test('is logged at most once a minute, whatever comes between genuine deliveries', async () => {
    const { receiver, clock, refuse, alarms } = await watched();
    for (const expected of [1, 2]) {
      for (let streak = 0; streak < 3; streak += 1) {
        await deliver(receiver);
        await refuse(5);
      }
      expect(alarms()).toBe(expected);
      clock.advance(60_000);
    }
    // The last streak was not reported, and goes on.
    await refuse(1);
    expect(alarms()).toBe(3);
  });

  const otherSchemes: readonly SchemeName[] = [
    'v1-hex-whole',
    't-v1-base64-suffix',
    'sha256-hex-whole',
    'bare-hex-whole',
    'standard-webhooks-suffix-base64',
    'x-standard-webhooks-suffix-base64',
  ];
  test.each(otherSchemes)('is logged when the scheme has become %s', async (scheme) => {
    const { receiver, refuse, alarms } = await watched();
    const body = bodyOf();
    await deliver(receiver, body, signedHeaders(body, { scheme: 't-v1-hex-whole' }));
    await refuse(5, () => ({
      body,
      headers: { ...platformHeaders, ...signedHeaders(body, { scheme, traceId: 'trace' }) },
    }));
    expect(alarms()).toBe(1);
  });

  test('says what to do: about the secret, or about a scheme in which they verify', async () => {
    const fixOf = async (options: ReceiverOptions, signing: SignParts): Promise<unknown> => {
      const { receiver, logs } = await started(options);
      await deliver(receiver);
      for (let index = 0; index < 5; index += 1) {
        const body = bodyOf();
        const headers = { ...platformHeaders, ...signedHeaders(body, signing) };
        expect((await deliver(receiver, body, headers)).status).toBe(401);
      }
      return logs.of('secret_rotation_suspected')[0]?.['fix'];
    };
    expect(await fixOf({}, { secrets: otherSecret })).toMatch(/secret been rotated.* signature detect/);
    const scheme = 'v1-hex-suffix';
    expect(await fixOf({}, { scheme })).toMatch(
      /secret is right.* in the scheme v1-hex-suffix, and t-v1-hex-whole is pinned.* ringback signature unpin/,
    );
    expect(await fixOf({ signature: 't-v1-hex-whole' }, { scheme })).toMatch(
      /set signature: 'v1-hex-suffix'/,
    );
  });

  test('is not logged before any delivery has verified: that is a mistake in the setup, which the log explains', async () => {
    const { refuse, alarms } = await watched();
    await refuse(10);
    expect(alarms()).toBe(0);
  });

  test("is not logged for deliveries that do not look like the platform's", async () => {
    const { receiver, refuse, alarms } = await watched();
    await deliver(receiver);
    await refuse(10, () => {
      const { body } = genuine();
      return { body, headers: signedHeaders(body, { secrets: otherSecret }) };
    });
    await refuse(10, () => {
      const { body, headers } = genuine();
      return { body, headers: { ...headers, 'x-webhook-signature': 'nonsense' } };
    });
    expect(alarms()).toBe(0);
  });
});
