// @module-tag long
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import { isOnPostgres } from '../support/inbox.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const megabyte = 1024 ** 2;
const json = { 'content-type': 'application/json' };
const signed = { ...json, 'x-webhook-signature': `v1=${'0'.repeat(64)}` };

/** A receiver with a manual clock, and a function that sends what is not authentic and resolves to how it is kept. */
async function quarantining(options: ReceiverOptions = {}) {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, ...options });
  const kept = async (body: string, headers: Record<string, string> = signed) => {
    expect((await deliver(receiver, body, headers)).status).toBe(401);
    const { deliveries } = await receiver.quarantine.list({ limit: 1 });
    return deliveries[0];
  };
  return { receiver, logs, clock, kept };
}

describe('deliveries that are not authentic', () => {
  test.skipIf(isOnPostgres)('are kept by another thread than the app', async () => {
    const { receiver, kept } = await quarantining({ database: temporaryDatabase() });
    const changes = () => receiver.database.prepare('select total_changes() as count').get();
    const before = changes();
    for (let count = 0; count < 3; count += 1) expect(await kept('x'.repeat(3 * megabyte))).toBeDefined();
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(3);
    expect(changes()).toEqual(before);
  });

  test('are kept whole within so many bytes a second, and beyond that only their head', async () => {
    const { receiver, clock, kept } = await quarantining();
    for (let count = 0; count < 20; count += 1) await kept('x'.repeat(megabyte));
    const { deliveries } = await receiver.quarantine.list({ limit: 20 });
    expect(deliveries.filter(({ isCut }) => !isCut)).toHaveLength(8);
    expect(new Set(deliveries.map(({ bytes }) => bytes))).toEqual(new Set([megabyte]));
    clock.advance(1_000);
    expect(await kept('x'.repeat(megabyte))).toMatchObject({ isCut: false });
    expect(await kept('x'.repeat(megabyte))).toMatchObject({ isCut: true });
    expect(await kept('x'.repeat(64 * 1024))).toMatchObject({ isCut: false });
  });

  test('have their digest and size, and whole characters, also if only their head is kept', async () => {
    const { receiver, kept } = await quarantining();
    const body = `{"said":"${'ü'.repeat(megabyte)}"}`;
    const entry = await kept(body, json);
    const digest = createHash('sha256').update(body).digest('hex');
    expect(entry).toMatchObject({ isCut: true, digest, bytes: Buffer.byteLength(body) });
    const head = Buffer.from((await receiver.quarantine.get(entry?.id ?? 0))?.body ?? []);
    expect(head.byteLength).toBeLessThanOrEqual(4 * 1024);
    expect(body.startsWith(head.toString())).toBe(true);
    expect(head.byteLength).toBeGreaterThan(4 * 1024 - 4);
  });

  test('and large have no place for their whole body without a signature: they could never be released', async () => {
    const { kept } = await quarantining();
    expect(await kept('x'.repeat(64 * 1024 + 1), json)).toMatchObject({ isCut: true });
    expect(await kept('x'.repeat(64 * 1024), json)).toMatchObject({ isCut: false });
  });
});

describe('after a rotated secret', () => {
  const transcript = (traceId: string) =>
    bodyOf({ traceId, payload: { transcript: 'x'.repeat(2 * megabyte) } });

  test('large genuine deliveries are released', async () => {
    const database = temporaryDatabase();
    const { receiver, clock, kept } = await quarantining({ database, secrets: otherSecret });
    for (const traceId of ['t-1', 't-2', 't-3', 't-4', 't-5']) {
      const body = transcript(traceId);
      const headers = signedHeaders(body, { secrets: secret, timestamp: clock.now() });
      expect(await kept(body, headers)).toMatchObject({ isCut: false });
      clock.advance(2_000);
    }
    await receiver.stop();
    const later = await started({ database, clock, secrets: [secret, otherSecret] });
    expect(await later.receiver.quarantine.reverify()).toMatchObject({ checked: 5, released: 5, cut: 0 });
  });

  test('those of which only the head is kept are not checked, and say so', async () => {
    const { receiver, logs, kept } = await quarantining();
    const { id = 0 } = (await kept('x'.repeat(megabyte), json)) ?? {};
    expect(await receiver.quarantine.reverify()).toEqual({
      checked: 0,
      released: 0,
      duplicates: 0,
      unreadable: 0,
      cut: 1,
      remaining: 1,
    });
    expect(logs.of('quarantine_reverified')).toMatchObject([{ checked: 0, cut: 1 }]);
    await expect(receiver.quarantine.release(id)).rejects.toMatchObject({
      code: 'quarantine_cut',
      message: expect.stringMatching(/only the first 4096 of its 1048576 bytes were kept/) as string,
    });
    expect(await receiver.quarantine.discard(id)).toBe(true);
    expect((await receiver.quarantine.list()).deliveries).toEqual([]);
  });
});
