import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { ringback } from '../cli/command.ts';
import { ManualClock } from '../support/clock.ts';
import type { Recording } from '../../src/store/store.ts';
import { bodyOf, deliver, secret, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { SchemeName, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Lets the pin go from outside. */
async function unpin(database: string): Promise<void> {
  const { code } = await ringback(['signature', 'unpin', '--yes', '--database', database]);
  expect(code).toBe(0);
}

async function statusOf(receiver: Receiver, scheme: SchemeName, body = bodyOf()): Promise<number> {
  const headers = signedHeaders(body, { scheme, traceId: 'trace-1' });
  return (await deliver(receiver, body, headers)).status;
}

describe("signature 'auto'", () => {
  test('pins the scheme of the first delivery that verifies: another one is refused from then on', async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database });
    expect(await statusOf(receiver, 'v1-hex-suffix')).toBe(200);
    expect(logs.of('scheme_pinned')).toMatchObject([{ option: "signature: 'v1-hex-suffix'" }]);
    expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(401);
    expect(await statusOf(receiver, 'v1-hex-suffix')).toBe(200);
    await receiver.stop();

    const next = await started({ database });
    expect(await statusOf(next.receiver, 't-v1-hex-whole')).toBe(401);
    expect(await statusOf(next.receiver, 'v1-hex-suffix')).toBe(200);
    expect(next.logs.of('scheme_pinned')).toEqual([]);
  });

  test.each<SchemeName>(['v1-hex-whole', 'sha256-hex-whole', 'standard-webhooks-whole', 't-v1-hex-suffix'])(
    'whoever signs in the scheme %s is told in the log which one is pinned',
    async (scheme) => {
      const { receiver, logs } = await started();
      expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(200);
      expect(await statusOf(receiver, scheme)).toBe(401);
      const [reported] = logs.of('refusal_fix');
      expect(reported?.['fix']).toMatch(
        /the scheme t-v1-hex-whole, which .* pinned: .* ringback signature unpin/,
      );
    },
  );

  test('the log says which one is pinned, also if a forgery was refused before there was a pin', async () => {
    const { receiver, logs } = await started();
    const body = bodyOf();
    const forged = signedHeaders(body, { scheme: 'v1-hex-whole', secrets: 'whsec_Zm9yZ2Vk' });
    expect((await deliver(receiver, body, forged)).status).toBe(401);
    expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(200);
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(401);
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(401);
    expect(logs.of('refusal_fix')).toHaveLength(2);
    expect(logs.of('refusal_fix')[1]?.['fix']).toContain('the scheme t-v1-hex-whole, which');
  });

  test('is not pinned by a forgery, whatever it looks like', async () => {
    const { receiver, logs } = await started();
    const body = bodyOf();
    const forged = signedHeaders(body, { scheme: 'bare-hex-whole', secrets: 'whsec_Zm9yZ2Vk' });
    expect((await deliver(receiver, body, forged)).status).toBe(401);
    expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(200);
    expect(logs.of('scheme_pinned')).toHaveLength(1);
  });

  test('two first events at once that are signed over different contents: both are kept, and one pins', async () => {
    // The first is on disk, and pins, only when the second has been verified, however slow the machine is.
    const second = new Gate();
    let recorded = 0;
    const database = storeAround(':memory:', systemClock, (method, work) =>
      method !== 'record'
        ? undefined
        : (...given) => {
            const recording = work(...given) as unknown as Recording;
            recorded += 1;
            if (recorded === 2) second.open();
            const written = recording.written.then(async (status) => {
              await second.pass();
              return status;
            });
            return { ...recording, written } as never;
          },
    );
    const { receiver, logs } = await started({ database });
    const names = ['v1-hex-whole', 't-v1-hex-whole'] as const;
    const both = () => Promise.all(names.map((name) => statusOf(receiver, name)));
    expect(await both()).toEqual([200, 200]);
    expect((await both()).toSorted((a, b) => a - b)).toEqual([200, 401]);
    expect(logs.of('scheme_pinned')).toHaveLength(1);
  });

  test('two processes that pin at the same time: the store decides, and both use what it says', async () => {
    const database = temporaryDatabase();
    const [first, second] = [await started({ database }), await started({ database })];
    expect(await statusOf(first.receiver, 'v1-hex-whole')).toBe(200);
    // The second process does not know of it: its event counts, but pins nothing.
    expect(await statusOf(second.receiver, 't-v1-hex-whole')).toBe(200);
    expect(second.logs.of('scheme_pinned')).toMatchObject([{ option: "signature: 'v1-hex-whole'" }]);
    for (const { receiver } of [first, second]) {
      expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(401);
      expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
    }
  });

  test('an event counts although its scheme could not be pinned, and the next one pins', async () => {
    let isBroken = true;
    const store = storeAround(':memory:', systemClock, (method, work) =>
      method === 'pinScheme'
        ? (...given) => (isBroken ? Promise.reject(new Error('broken')) : work(...given))
        : undefined,
    );
    const { receiver, logs } = await started({ database: store });
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
    expect(await store.pinnedScheme()).toBeUndefined();
    isBroken = false;
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
    expect(await store.pinnedScheme()).toBe('v1-hex-whole');
    expect(logs.of('scheme_pinned')).toHaveLength(1);
  });

  test('a scheme that could not be pinned counts as pinned in its process', async () => {
    const clock = new ManualClock();
    const store = storeAround(':memory:', clock, (method) =>
      method === 'pinScheme' ? () => Promise.reject(new Error('broken')) : undefined,
    );
    const { receiver } = await started({ clock, database: store });
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
    // Each of these has the pin read again.
    for (let again = 0; again < 2; again += 1) {
      clock.advance(1_000);
      expect(await statusOf(receiver, 'sha256-hex-suffix')).toBe(401);
    }
  });

  test('while the pin can not be read, the one that is known counts', async () => {
    const clock = new ManualClock();
    let isBroken = false;
    const store = storeAround(':memory:', clock, (method, work) =>
      method === 'pinnedScheme'
        ? (...given) => (isBroken ? Promise.reject(new Error('broken')) : work(...given))
        : undefined,
    );
    const { receiver } = await started({ clock, database: store });
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
    isBroken = true;
    clock.advance(1_000);
    expect(await statusOf(receiver, 'sha256-hex-suffix')).toBe(401);
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(200);
  });

  test(
    'a duplicate never pins: not an old delivery that is sent again after unpinning',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const body = bodyOf();
      const headers = signedHeaders(body, { scheme: 'v1-hex-whole' });
      const before = await started({ database });
      expect((await deliver(before.receiver, body, headers)).json.status).toBe('accepted');
      await before.receiver.stop();
      await unpin(database);

      const { receiver, logs } = await started({ database });
      expect((await deliver(receiver, body, headers)).json.status).toBe('duplicate');
      expect(logs.of('scheme_pinned')).toEqual([]);
      expect(await statusOf(receiver, 't-v1-hex-whole')).toBe(200);
      expect(logs.of('scheme_pinned')).toMatchObject([{ option: "signature: 't-v1-hex-whole'" }]);
      expect((await deliver(receiver, body, headers)).status).toBe(401);
    },
  );

  test.each<SchemeName>([
    't-v1-hex-whole',
    'v1-timestamp-hex-whole',
    'v1-hex-whole',
    'standard-webhooks-whole',
  ])('a delivery out of tolerance never pins: %s', async (scheme) => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock });
    const body = bodyOf();
    const headers = signedHeaders(body, { scheme, traceId: 'trace-1', timestamp: clock.now() });
    // Where no time is signed, the one in the header counts all the same.
    const timed = { 'x-webhook-timestamp': new Date(clock.now()).toISOString(), ...headers };
    clock.advance(3_600_000);
    expect((await deliver(receiver, body, timed)).status).toBe(401);
    const [entry] = (await receiver.quarantine.list()).deliveries;
    await expect(receiver.quarantine.release(entry?.id ?? 0)).rejects.toThrow('timestamp_out_of_tolerance');
    expect(await receiver.quarantine.reverify()).toMatchObject({ released: 0, remaining: 1 });
    expect(logs.of('scheme_pinned')).toEqual([]);
  });

  test(
    'a running receiver notices the unpinning at the next delivery that it would refuse',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const clock = new ManualClock();
      const { receiver } = await started({ database, clock });
      const send = (scheme: SchemeName) => {
        const body = bodyOf();
        return deliver(receiver, body, signedHeaders(body, { scheme, timestamp: clock.now() }));
      };
      expect((await send('v1-hex-whole')).status).toBe(200);
      clock.advance(1_000);
      expect((await send('t-v1-hex-whole')).status).toBe(401);
      await unpin(database);
      // The pin was read a moment ago: a flood of refusals must not cost a read each.
      expect((await send('t-v1-hex-whole')).status).toBe(401);
      clock.advance(1_000);
      expect((await send('t-v1-hex-whole')).status).toBe(200);
      expect((await send('v1-hex-whole')).status).toBe(401);
    },
  );

  test('a burst of first deliveries waits for one write, and all of them are taken', async () => {
    let writes = 0;
    const store = storeAround(':memory:', systemClock, (method, work) =>
      method === 'pinScheme'
        ? (scheme) => {
            writes += 1;
            return work(scheme);
          }
        : undefined,
    );
    const { receiver } = await started({ database: store });
    const burst = Array.from({ length: 40 }, () => statusOf(receiver, 't-v1-hex-whole'));
    expect(new Set(await Promise.all(burst))).toEqual(new Set([200]));
    expect(writes).toBe(1);
  });

  test('a captured delivery that is cut apart for another scheme neither pins nor reaches a handler', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) => r.on('*', (event) => seen.push(event.traceId)));
    const body = bodyOf({ traceId: 'captured' });
    const signature = signedHeaders(body, { scheme: 't-v1-hex-whole' })['x-webhook-signature'] ?? '';
    const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(signature) ?? [];
    const json = { 'content-type': 'application/json' };
    // The signature covers "<t>.<body>". Sent as a body, that text verifies under a scheme that signs only the body.
    const cut = await deliver(receiver, `${t}.${body}`, { ...json, 'x-webhook-signature': `v1=${v1}` });
    expect(cut.json.status).toBe('quarantined');
    expect(seen).toEqual([]);
    expect(logs.of('scheme_pinned')).toEqual([]);
    expect((await deliver(receiver, body, { ...json, 'x-webhook-signature': signature })).status).toBe(200);
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
    expect(seen).toEqual(['captured']);
    expect(logs.of('scheme_pinned')).toMatchObject([{ option: "signature: 't-v1-hex-whole'" }]);
    const again = await deliver(receiver, `${t}.${body}`, { ...json, 'x-webhook-signature': `v1=${v1}` });
    expect(again.status).toBe(401);
  });
});

describe('a scheme that is given', () => {
  test('by name counts from the first delivery on, and nothing is pinned', async () => {
    const { receiver, logs } = await started({ signature: 'sha256-base64-suffix' });
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(401);
    expect(await statusOf(receiver, 'sha256-base64-suffix')).toBe(200);
    expect(logs.of('scheme_pinned')).toEqual([]);
  });

  test('in full may have a header of its own', async () => {
    const scheme = {
      header: 'X-Signed',
      syntax: 'bare',
      content: '{id}|{body}',
      encoding: 'base64',
      hash: 'sha512',
      key: 'suffix',
    } as const;
    const { receiver } = await started({ signature: scheme });
    const body = bodyOf();
    const headers = signedHeaders(body, { scheme, traceId: 'trace-1', secrets: secret });
    expect((await deliver(receiver, body, headers)).status).toBe(200);
    expect((await deliver(receiver, body, { ...headers, 'x-webhook-traceid': 'trace-2' })).status).toBe(401);
  });

  test('takes precedence over the scheme that an earlier start has pinned', async () => {
    const database = temporaryDatabase();
    const before = await started({ database });
    await statusOf(before.receiver, 'v1-hex-whole');
    await before.receiver.stop();
    const { receiver } = await started({ database, signature: 'bare-hex-whole' });
    expect(await statusOf(receiver, 'bare-hex-whole')).toBe(200);
    expect(await statusOf(receiver, 'v1-hex-whole')).toBe(401);
  });
});
