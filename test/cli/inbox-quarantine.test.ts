// @module-tag long
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { bodyOf } from '../support/deliveries.ts';
import { withStore } from '../support/inbox.ts';
import { started } from '../support/receiver.ts';
import { otherSecret, ringback, secret } from './command.ts';
import { env, inboxWithTrouble, linesOf } from './inbox-support.ts';

const rotated = { RINGBACK_SECRETS: `${secret},${otherSecret}` };

/** Runs the command with these secrets, expects success, and parses the JSON that it has printed. */
async function resultOf(cwd: string, secrets: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { code, stdout, stderr } = await ringback(['inbox', ...args], { env: secrets, cwd });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('ringback inbox quarantine', () => {
  it('finds by kind, reason and time of arrival', async () => {
    const besides = [buildDelivery('unreadable-not-json', { secret })];
    const cwd = await inboxWithTrouble({ besides });
    const [unreadable, forged] = await linesOf(cwd, 'quarantine');
    expect([unreadable, forged]).toMatchObject([{ kind: 'unreadable' }, { reason: 'signature_mismatch' }]);
    expect(await linesOf(cwd, 'quarantine', '--kind', 'unreadable')).toEqual([unreadable]);
    expect(await linesOf(cwd, 'quarantine', '--reason', 'signature_mismatch')).toEqual([forged]);
    expect(forged).toMatchObject({ traceId: expect.stringMatching(/./) });
    const { traceId } = forged as { readonly traceId: string };
    expect(await linesOf(cwd, 'quarantine', '--trace-id', traceId)).toContainEqual(forged);
    expect(await linesOf(cwd, 'quarantine', '--trace-id', `${traceId}x`)).toEqual([]);
    expect(await linesOf(cwd, 'quarantine', '--since', '2020-01-01T00:00:00Z')).toHaveLength(2);
    expect(await linesOf(cwd, 'quarantine', '--until', '2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('shows one with its headers, and its body as text, or by another name', async () => {
    const body = Buffer.from([0x7b, 0xff]);
    const cwd = await inboxWithTrouble({ besides: [buildDelivery(body, { secret })] });
    expect(await resultOf(cwd, {}, 'delivery', '1')).toMatchObject({
      id: 1,
      headers: { 'x-webhook-event': 'CallHandler.CallEnded' },
      body: expect.stringContaining('"call_id"') as string,
    });
    const bytes = await resultOf(cwd, {}, 'delivery', '2');
    expect(bytes).toMatchObject({ bodyBase64: body.toString('base64') });
    expect(bytes).not.toHaveProperty('body');
  });

  it('says with the secrets of one which scheme would verify it', async () => {
    const app = `export const options = { secrets: ['${otherSecret}'] };
      export default () => {};`;
    const cwd = await inboxWithTrouble({ app });
    const signatureBy = async (secrets: Readonly<Record<string, string>>, ...args: readonly string[]) =>
      (await resultOf(cwd, secrets, 'delivery', '1', ...args))['signature'];
    expect(await signatureBy({})).toMatchObject({ status: 'secrets_not_set' });
    expect(await signatureBy(env)).toMatchObject({ status: 'does_not_verify', expected: 't-v1-hex-whole' });
    const verifies = { status: 'verifies', scheme: 't-v1-hex-whole' };
    expect(await signatureBy(rotated)).toMatchObject(verifies);
    expect(await signatureBy({}, '--app', 'app.mjs')).toMatchObject(verifies);
  });

  it('says that only the head of a large one without a signature is kept, and checks it no more', async () => {
    const body = Buffer.from(`{"said":"${'x'.repeat(100_000)}"}`);
    const { headers, ...delivery } = buildDelivery(body, { secret: otherSecret });
    const unsigned = Object.entries(headers).filter(([name]) => !name.includes('signature'));
    const cwd = await inboxWithTrouble({ besides: [{ ...delivery, headers: Object.fromEntries(unsigned) }] });
    const [large] = await linesOf(cwd, 'quarantine');
    expect(large).toMatchObject({ isCut: true, bytes: body.byteLength });
    const id = String((large as { readonly id: number }).id);
    for (const args of [
      ['inbox', 'release', id],
      ['signature', 'detect', '--quarantine', id],
    ]) {
      const { code, stderr } = await ringback(args, { env: rotated, cwd });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`first 4096 of its ${body.byteLength} bytes`),
      ]);
    }
  });

  it('removes one permanently', async () => {
    const cwd = await inboxWithTrouble();
    expect(await resultOf(cwd, {}, 'discard', '1')).toEqual({ discarded: 1 });
    expect(await linesOf(cwd, 'quarantine')).toEqual([]);
  });

  it('releases what verifies by now, and leaves its handlers to the receiver', async () => {
    const besides = [buildDelivery('call-started', { secret: otherSecret, traceId: 't-late' })];
    const cwd = await inboxWithTrouble({ besides });
    const asked = await ringback(['inbox', 'reverify'], { env: rotated, cwd });
    expect(JSON.parse(asked.stdout)).toMatchObject({ checked: 2, released: 2, remaining: 0 });
    expect(asked.stderr).toBe('ringback: Nothing was released. To release these deliveries, add --yes.\n');
    expect(await resultOf(cwd, env, 'reverify', '--yes')).toMatchObject({
      checked: 2,
      released: 0,
      remaining: 2,
    });
    const { code, stderr } = await ringback(['inbox', 'release', '2'], { env, cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining('The delivery 2 should verify')]);
    expect(await resultOf(cwd, rotated, 'release', '2')).toEqual({ status: 'accepted', traceId: 't-late' });
    expect(await linesOf(cwd, 'events', '--state', 'new', '--trace-id', 't-late')).toHaveLength(1);
    const { logs } = await started({ database: join(cwd, 'ringback.db') }, (receiver) =>
      receiver.on('*', { name: 'journal' }, () => {}),
    );
    expect(await logs.until('run_done')).toMatchObject([{ traceId: 't-late' }]);
    const released = { checked: 1, released: 1, remaining: 0 };
    expect(await resultOf(cwd, rotated, 'reverify', '--yes')).toMatchObject(released);
    await logs.until('run_done', 2);
  });

  it('continues no dismissal that would end with the command, and counts what is not documented', async () => {
    const unknown = JSON.parse(bodyOf({ payload: { novelty: 1 } })) as Record<string, unknown>;
    const besides = [buildDelivery(unknown, { secret: otherSecret })];
    const cwd = await inboxWithTrouble({ besides });
    const dismissal = {
      action: 'dismiss',
      by: undefined,
      reason: 'by hand',
      what: '{"state":"dead"}',
    } as const;
    await withStore(join(cwd, 'ringback.db'), ({ audit }) =>
      audit.begin({ ...dismissal, now: Date.now(), upTo: 100 }),
    );
    expect(await resultOf(cwd, rotated, 'release', '2')).toMatchObject({ status: 'accepted' });
    expect(await resultOf(cwd, rotated, 'reverify', '--yes')).toMatchObject({ released: 1 });
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toHaveLength(1);
    expect(await linesOf(cwd, 'drift')).toMatchObject([{ path: 'payload.novelty' }]);
  });

  it('gives what was refused to signature detect', async () => {
    const cwd = await inboxWithTrouble();
    const detect = ['signature', 'detect', '--quarantine', '1'];
    const found = await ringback(detect, { env: rotated, cwd });
    expect([found.code, found.stdout]).toEqual([0, expect.stringContaining("signature: 't-v1-hex-whole'")]);
    expect(found.stdout).toContain('delivery 1  verified with the secret');
    expect((await ringback(detect, { env, cwd })).code).toBe(1);
  });

  it('says in a sentence what can not be', async () => {
    const cwd = await inboxWithTrouble();
    const wrong: readonly (readonly [code: number, sentence: RegExp, ...args: string[]])[] = [
      [2, /It should be one of not_authentic, unreadable/, 'inbox', 'quarantine', '--kind', 'lost'],
      [2, /It should be one of .*signature_mismatch, .*not_json/, 'inbox', 'quarantine', '--reason', 'lost'],
      [2, /It should be the id of a delivery in quarantine/, 'inbox', 'delivery', 'one'],
      [1, /There is no delivery 9 in quarantine/, 'inbox', 'delivery', '9'],
      [1, /There is no delivery 9 in quarantine/, 'inbox', 'discard', '9'],
      [1, /There is no delivery 9 in quarantine/, 'inbox', 'release', '9'],
      [1, /There is no delivery 9 in quarantine/, 'signature', 'detect', '--quarantine', '1', '9'],
      [1, /there is no such file/, 'inbox', 'reverify', '--yes', '--database', 'no-such.db'],
    ];
    for (const [expected, sentence, ...args] of wrong) {
      const { code, stdout, stderr } = await ringback(args, { env, cwd });
      expect([args, code, stdout]).toEqual([args, expected, '']);
      expect(stderr).toMatch(sentence);
    }
    const { code, stderr } = await ringback(['inbox', 'reverify', '--yes'], { env: {}, cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs the subscription')]);
  });

  it('releases by the options that the app file exports', async () => {
    const app = `console.log('loaded');
      export const options = { secrets: ['${otherSecret}'] };
      export default () => {};`;
    const cwd = await inboxWithTrouble({ app });
    const { code, stdout } = await ringback(['inbox', 'release', '1', '--app', 'app.mjs'], { env: {}, cwd });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { status: 'accepted' }]);
  });
});
