/** What a person is told about the signature of a stored event. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import type { ReceiverOptions, SchemeName } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { turnsOf } from '../support/turns.ts';
import { endedCall, readersOf } from './reconcile-support.ts';

const sentAt = Date.parse('2026-03-02T09:15:42Z');

/** A receiver that has accepted an event, signed in this scheme with the secret. */
async function accepted(options: ReceiverOptions = {}, scheme: SchemeName = 't-v1-hex-whole') {
  const clock = new ManualClock(sentAt + 1_000);
  const { receiver } = await started({ clock, ...options });
  const body = bodyOf({ traceId: 'trace-1' });
  const signed = signedHeaders(body, { scheme, timestamp: sentAt, traceId: 'trace-1' });
  expect((await deliver(receiver, body, { ...signed, 'x-key': 'k' })).status).toBe(200);
  return { receiver, clock };
}

describe('events.checkSignature', () => {
  test.each<[SchemeName, RegExp, Date | undefined]>([
    ['t-v1-hex-whole', /signed the body and its time: .* changed on the way\.$/, new Date(sentAt)],
    ['v1-timestamp-base64-suffix', /signed the body and its time: /, new Date(sentAt)],
    ['standard-webhooks-suffix-base64', /the body, its time and its trace id: /, new Date(sentAt)],
    ['sha256-hex-whole', /signed the body: .* No time is signed: a copy could be sent again/, undefined],
  ])('tells what a signature in %s covers, however long ago', async (scheme, message, signedAt) => {
    const { receiver, clock } = await accepted({}, scheme);
    clock.advance(30 * 86_400_000);
    const { traceId } = (await receiver.events.list()).events[0] ?? {};
    expect(await receiver.events.checkSignature(traceId ?? '')).toEqual({
      status: 'verifies',
      scheme,
      signedAt,
      message: expect.stringMatching(message),
    });
  });

  test('does not claim that an event is signed that was accepted by its headers alone', async () => {
    const database = temporaryDatabase();
    const byHeaders = { secrets: undefined, headers: { 'x-key': 'k' } };
    const { receiver } = await started({ database, ...byHeaders });
    const json = { 'content-type': 'application/json', 'x-key': 'k' };
    expect((await deliver(receiver, bodyOf({ traceId: 'trace-1' }), json)).status).toBe(200);
    expect(await receiver.events.checkSignature('trace-1')).toMatchObject({
      status: 'secrets_not_set',
      scheme: undefined,
      message: expect.stringContaining('prove nothing about the body'),
    });
    const withSecrets = await started({ database });
    expect(await withSecrets.receiver.events.checkSignature('trace-1')).toMatchObject({ status: 'unsigned' });
  });

  test('lets deliveries be answered between the checks of many events', async () => {
    const { receiver } = await accepted();
    const checks = Array.from({ length: 10 }, () => receiver.events.checkSignature('trace-1'));
    expect(await turnsOf(Promise.all(checks))).toBeGreaterThanOrEqual(checks.length);
  });

  test('tells that no current secret signed it, once another is in force', async () => {
    const known = { secrets: [secret] };
    const { receiver, clock } = await accepted({ secrets: () => known.secrets });
    known.secrets = [otherSecret];
    clock.advance(1_000);
    expect(await receiver.events.checkSignature('trace-1')).toMatchObject({
      status: 'does_not_verify',
      signedAt: undefined,
      message: expect.stringContaining('accepted when another secret was in force'),
    });
  });

  test('tells that a reconciled event was never delivered', async () => {
    const { receiver } = await started();
    await receiver.reconcile(readersOf({ 'call-1': endedCall }).readers);
    const { traceId } = (await receiver.events.list()).events[0] ?? {};
    expect(await receiver.events.checkSignature(traceId ?? '')).toMatchObject({ status: 'reconciled' });
  });

  test('says nothing of the secret, and needs a receiver that runs', async () => {
    const { receiver } = await accepted();
    const answer = JSON.stringify(await receiver.events.checkSignature('trace-1'));
    for (const part of ['whsec', secret.slice(6)]) expect(answer).not.toContain(part);
    expect(await receiver.events.checkSignature('trace-2')).toBeUndefined();
    await expect(made().receiver.events.checkSignature('trace-1')).rejects.toMatchObject({
      code: 'receiver_not_started',
    });
  });
});
