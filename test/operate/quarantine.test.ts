import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import type { Receiver, Secrets } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const hour = 3_600_000;

/** A receiver that expects one secret until the test sets another, and a list of what its handler has seen. */
async function rotating(options: { database?: string; tolerance?: '5m' } = {}) {
  const clock = new ManualClock();
  const current: { secrets: Secrets } = { secrets: secret };
  const seen: { traceId: string; receivedAt: Date }[] = [];
  const { receiver, logs } = await started({ clock, secrets: () => current.secrets, ...options }, (r) =>
    r.on('*', ({ traceId }, { receivedAt }) => void seen.push({ traceId, receivedAt })),
  );
  /** Sets the secrets, and moves time on so far that the receiver asks for them again. */
  const rotate = (secrets: Secrets) => {
    current.secrets = secrets;
    clock.advance(1_000);
  };
  const take = (body: string, secrets: string | string[], timestamp = clock.now()) =>
    deliver(receiver, body, signedHeaders(body, { secrets, timestamp }));
  return { receiver, logs, clock, seen, rotate, take };
}

async function firstId(receiver: Receiver): Promise<number> {
  const { deliveries } = await receiver.quarantine.list();
  return deliveries[0]?.id ?? -1;
}

describe('quarantine.release', () => {
  test(
    'verifies a delivery again as of its arrival: a rotated secret loses nothing',
    { tags: 'long' },
    async () => {
      const { receiver, logs, clock, seen, rotate, take } = await rotating();
      const arrivedAt = clock.now();
      const body = bodyOf({ traceId: 'trace-1' });
      expect((await take(body, otherSecret)).status).toBe(401);
      // This is far beyond the tolerance: the signature verifies only as of the time of arrival.
      clock.advance(5 * hour);
      rotate([secret, otherSecret]);
      const released = await receiver.quarantine.release(await firstId(receiver));
      expect(released).toEqual({ status: 'accepted', traceId: 'trace-1' });
      await logs.until('run_done');
      expect(seen).toEqual([{ traceId: 'trace-1', receivedAt: new Date(arrivedAt) }]);
      expect((await receiver.counts()).quarantine).toEqual({ notAuthentic: 0, unreadable: 0, dropped: 0 });
      expect((await take(body, otherSecret)).json.status).toBe('duplicate');
    },
  );

  test('refuses what does not verify, in a sentence, and keeps it', async () => {
    const { receiver, seen, clock, take } = await rotating();
    await take(bodyOf(), otherSecret);
    clock.advance(2_000);
    const id = await firstId(receiver);
    await expect(receiver.quarantine.release(id)).rejects.toMatchObject({
      code: 'release_not_authentic',
      message: expect.stringContaining(`The delivery ${id} should verify`),
    });
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(1);
    expect(seen).toEqual([]);
  });

  test('says what to do about the reason, and not about a secret that is right', async () => {
    const { receiver, clock, take } = await rotating();
    await take(bodyOf(), secret);
    await deliver(receiver, bodyOf(), signedHeaders(bodyOf(), { scheme: 'v1-hex-whole' }));
    const pinned = receiver.quarantine.release(await firstId(receiver));
    await expect(pinned).rejects.toThrow(
      /timestamp_missing\. .* requires a signed time, .* ringback signature unpin/,
    );
    await take(bodyOf({ traceId: 'trace-old' }), secret, clock.now() - hour);
    const old = receiver.quarantine.release(await firstId(receiver));
    await expect(old).rejects.toThrow(/timestamp_out_of_tolerance\. .*check the clock/);
    await take(bodyOf({ traceId: 'trace-other' }), otherSecret);
    const other = receiver.quarantine.release(await firstId(receiver));
    await expect(other).rejects.toThrow(/signature_mismatch\. .*compare the secret/);
    for (const release of [pinned, old]) await expect(release).rejects.not.toThrow('Set the secret');
  });

  test('refuses what was too old when it arrived, however right its signature', async () => {
    const { receiver, seen, clock, take } = await rotating();
    expect((await take(bodyOf(), secret, clock.now() - hour)).status).toBe(401);
    await expect(receiver.quarantine.release(await firstId(receiver))).rejects.toThrow(
      'timestamp_out_of_tolerance',
    );
    expect(seen).toEqual([]);
  });

  test('forged bodies and headers are never released under any secret of ours', async () => {
    const { receiver, seen, rotate } = await rotating();
    const genuine = signedHeaders(bodyOf(), { secrets: otherSecret });
    await deliver(receiver, bodyOf({ callId: 'invented' }), genuine);
    await deliver(receiver, bodyOf(), { 'content-type': 'application/json' });
    rotate([secret, otherSecret]);
    expect(await receiver.quarantine.reverify()).toMatchObject({ checked: 2, released: 0, remaining: 2 });
    expect(seen).toEqual([]);
  });

  test(
    'releases nothing that was not authentic while there are no secrets to verify it by',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const first = await started({ database });
      await deliver(first.receiver, bodyOf(), signedHeaders('{}', { secrets: otherSecret }));
      await first.receiver.stop();
      const seen: unknown[] = [];
      const { receiver } = await started({ database, secrets: undefined, headers: { 'x-key': 'k' } }, (r) =>
        r.on('*', (event) => void seen.push(event)),
      );
      await expect(receiver.quarantine.release(await firstId(receiver))).rejects.toThrow('secrets_not_set');
      expect(await receiver.quarantine.reverify()).toMatchObject({ checked: 1, released: 0, remaining: 1 });
      expect(seen).toEqual([]);
    },
  );

  test('says that an unreadable one still is, and that an unknown one is not there', async () => {
    const { receiver, clock } = await rotating();
    const body = 'not json';
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    const id = await firstId(receiver);
    await expect(receiver.quarantine.release(id)).rejects.toMatchObject({
      code: 'release_unreadable',
      message: expect.stringContaining('not_json'),
    });
    await expect(receiver.quarantine.release(id + 1)).rejects.toMatchObject({ code: 'quarantine_unknown' });
    expect(await receiver.quarantine.discard(id + 1)).toBe(false);
    expect((await receiver.audit.list({ limit: 2 })).entries).toMatchObject([
      { action: 'discard', events: 0, finishedAt: expect.any(Date) },
      { action: 'release', events: 0, finishedAt: expect.any(Date) },
    ]);
    expect((await receiver.counts()).quarantine.unreadable).toBe(1);
  });

  test('two at once release one event', async () => {
    const { receiver, rotate, take, logs, seen } = await rotating();
    await take(bodyOf({ traceId: 'trace-1' }), otherSecret);
    rotate(otherSecret);
    const id = await firstId(receiver);
    const released = await Promise.allSettled([
      receiver.quarantine.release(id),
      receiver.quarantine.release(id),
    ]);
    expect(released.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await logs.until('run_done');
    expect(seen).toHaveLength(1);
  });
});

describe('quarantine.reverify', () => {
  test('releases what verifies, in the order of arrival, finds copies, and counts', async () => {
    const { receiver, logs, clock, seen, rotate, take } = await rotating();
    const copied = bodyOf({ traceId: 'trace-1', callId: 'call-1' });
    for (const body of [copied, copied, bodyOf({ traceId: 'trace-2', callId: 'call-1' })]) {
      await take(body, otherSecret);
    }
    await take(bodyOf(), 'whsec_c3RyYW5nZXI=');
    await take('not json', otherSecret);
    clock.advance(hour);
    rotate([secret, otherSecret]);
    const before = (await receiver.counts()).quarantine;
    // Copies are known as such only when they are released.
    const wouldBe = { checked: 5, released: 3, duplicates: 0, unreadable: 1, cut: 0, remaining: 1 };
    expect(await receiver.quarantine.reverify({ dryRun: true })).toEqual(wouldBe);
    expect((await receiver.counts()).quarantine).toEqual(before);
    expect((await receiver.audit.list()).entries).toEqual([]);
    const reverified = await receiver.quarantine.reverify();
    expect(reverified).toEqual({
      checked: 5,
      released: 2,
      duplicates: 1,
      unreadable: 1,
      cut: 0,
      remaining: 1,
    });
    expect(logs.of('quarantine_reverified')).toMatchObject([reverified]);
    await logs.until('run_done', 2);
    expect(seen.map(({ traceId }) => traceId)).toEqual(['trace-1', 'trace-2']);
    expect((await receiver.counts()).quarantine).toEqual({ notAuthentic: 1, unreadable: 1, dropped: 0 });
    const { deliveries } = await receiver.quarantine.list({ kind: 'unreadable' });
    expect(deliveries).toMatchObject([{ reason: 'not_json' }]);
  });

  test('after a restart with the right secret, everything kept under the wrong one is handled', async () => {
    const database = temporaryDatabase();
    const wrong = await started({ database, secrets: otherSecret });
    for (let index = 0; index < 5; index += 1) {
      const body = bodyOf({ traceId: `trace-${index}` });
      expect((await deliver(wrong.receiver, body)).status).toBe(401);
    }
    await wrong.receiver.stop();
    const seen: string[] = [];
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', ({ traceId }) => void seen.push(traceId)),
    );
    expect(await receiver.quarantine.reverify()).toMatchObject({ checked: 5, released: 5, remaining: 0 });
    await logs.until('run_done', 5);
    expect(seen.toSorted()).toEqual(['trace-0', 'trace-1', 'trace-2', 'trace-3', 'trace-4']);
    expect(logs.of('scheme_pinned')).toHaveLength(1);
  });

  test('verifies them in the present scheme', async () => {
    const database = temporaryDatabase();
    const wrong = await started({ database, signature: 't-v1-hex-whole' });
    const body = bodyOf();
    const headers = signedHeaders(body, { scheme: 'v1-base64-suffix' });
    expect((await deliver(wrong.receiver, body, headers)).status).toBe(401);
    expect(await wrong.receiver.quarantine.reverify()).toMatchObject({ released: 0, remaining: 1 });
    await wrong.receiver.stop();
    const { receiver } = await started({ database, signature: 'v1-base64-suffix' });
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 1, remaining: 0 });
  });

  test('a delivery cut apart for another scheme neither pins it nor becomes an event', async () => {
    const { receiver, logs, rotate, clock } = await rotating();
    const body = bodyOf();
    const signed = signedHeaders(body, { secrets: otherSecret, timestamp: clock.now() });
    const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(signed['x-webhook-signature'] ?? '') ?? [];
    const json = { 'content-type': 'application/json' };
    await deliver(receiver, `${t}.${body}`, { ...json, 'x-webhook-signature': `v1=${v1}` });
    await deliver(receiver, body, signed);
    rotate(otherSecret);
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 1, unreadable: 1 });
    expect(logs.of('scheme_pinned')).toMatchObject([{ option: "signature: 't-v1-hex-whole'" }]);
  });
});

describe('the log', () => {
  test('says under which number a refused delivery and an unreadable one are kept', async () => {
    const { receiver, logs, take } = await rotating();
    await take(bodyOf(), otherSecret);
    await take('{', secret);
    await take('{', secret);
    const { deliveries } = await receiver.quarantine.list();
    const [unreadable, unauthenticated] = deliveries.map(({ id }) => id);
    expect(logs.of('delivery_refused').map(({ quarantineId }) => quarantineId)).toEqual([unauthenticated]);
    const quarantined = logs.of('delivery_quarantined').map(({ quarantineId }) => quarantineId);
    expect(quarantined).toEqual([unreadable, unreadable]);
  });
});

describe('quarantine.list, get and discard', () => {
  test('list in pages, latest first, by kind, reason and time, without bodies', async () => {
    const { receiver, clock, take } = await rotating();
    const begun = clock.now();
    for (let index = 0; index < 3; index += 1) {
      await take(bodyOf(), otherSecret);
      clock.advance(1_000);
    }
    await take('not json', secret);
    const first = await receiver.quarantine.list({ limit: 3 });
    expect(first.deliveries.map(({ kind }) => kind)).toEqual([
      'unreadable',
      'not_authentic',
      'not_authentic',
    ]);
    expect(first.deliveries[0]).toEqual({
      id: expect.any(Number),
      kind: 'unreadable',
      reason: 'not_json',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      traceId: undefined,
      receivedAt: new Date(begun + 3_000),
      bytes: 8,
      isCut: false,
    });
    const second = await receiver.quarantine.list({ limit: 3, cursor: first.cursor ?? '' });
    expect(second.deliveries).toHaveLength(1);
    expect(second.cursor).toBeUndefined();

    const count = async (query: Parameters<typeof receiver.quarantine.list>[0]) =>
      (await receiver.quarantine.list(query)).deliveries.length;
    expect(await count({ kind: 'not_authentic' })).toBe(3);
    expect(await count({ reason: 'signature_mismatch' })).toBe(3);
    expect(await count({ reason: 'not_json' })).toBe(1);
    expect(await count({ since: begun + 1_000, until: new Date(begun + 2_000) })).toBe(1);
    expect(await count({ since: new Date(begun + 2_000).toISOString() })).toBe(2);
  });

  test('list finds a delivery by the trace id that its header claims', async () => {
    const { receiver } = await started();
    for (const traceId of ['trace-1', 'trace-2']) {
      const body = bodyOf({ traceId });
      const headers = { ...signedHeaders(body, { secrets: otherSecret }), 'x-webhook-traceid': traceId };
      await deliver(receiver, body, headers);
    }
    const { deliveries } = await receiver.quarantine.list({ traceId: 'trace-2' });
    expect(deliveries).toMatchObject([{ traceId: 'trace-2', reason: 'signature_mismatch' }]);
    expect((await receiver.quarantine.list({ traceId: 'trace-' })).deliveries).toHaveLength(2);
    expect(await receiver.quarantine.get(deliveries[0]?.id ?? 0)).toMatchObject({ traceId: 'trace-2' });
  });

  test('get gives the raw bytes and the headers, but no credentials', async () => {
    const { receiver } = await started({ headers: { 'x-webhook-key': 'a credential' } });
    const body = bodyOf();
    const signed = signedHeaders(body, { secrets: otherSecret });
    await deliver(receiver, body, { ...signed, 'x-webhook-key': 'a credential', cookie: 'not ours' });
    const kept = await receiver.quarantine.get(await firstId(receiver));
    expect(Buffer.from(kept?.body ?? []).toString()).toBe(body);
    expect(kept?.headers).toEqual(signed);
    expect(await receiver.quarantine.get(12_345)).toBeUndefined();
  });

  test('discard removes one permanently', async () => {
    const { receiver, rotate, take } = await rotating();
    await take(bodyOf(), otherSecret);
    const id = await firstId(receiver);
    expect(await receiver.quarantine.discard(id)).toBe(true);
    expect(await receiver.quarantine.discard(id)).toBe(false);
    rotate(otherSecret);
    expect(await receiver.quarantine.reverify()).toMatchObject({ checked: 0, released: 0 });
  });

  test('invalid arguments are refused with a sentence', async () => {
    const { receiver } = await started();
    const { quarantine } = receiver;
    await expect(quarantine.list({ reasons: 'x' } as never)).rejects.toThrow('Did you mean reason?');
    await expect(quarantine.list({ reason: 'lost' as never })).rejects.toThrow('one of signature_missing,');
    await expect(quarantine.list({ limit: 0 })).rejects.toThrow('a whole number from 1 to 1000');
    await expect(quarantine.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'cursor_invalid' });
    await expect(quarantine.list({ since: 'yesterday' })).rejects.toThrow('ISO 8601');
    await expect(quarantine.get('1' as never)).rejects.toThrow('the id of a delivery in quarantine');
  });

  test('before start and after stop every method says so', async () => {
    const { receiver } = made();
    const { quarantine, drift } = receiver;
    const asked = () => [
      () => quarantine.list(),
      () => quarantine.get(1),
      () => quarantine.release(1),
      () => quarantine.discard(1),
      () => quarantine.reverify(),
      () => drift.list(),
    ];
    for (const ask of asked()) await expect(ask()).rejects.toMatchObject({ code: 'receiver_not_started' });
    await receiver.start();
    await receiver.stop();
    for (const ask of asked()) await expect(ask()).rejects.toMatchObject({ code: 'receiver_not_started' });
  });
});
