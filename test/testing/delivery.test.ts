import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { largeFixtures } from '../../scripts/fixtures.ts';
import { verify } from '../../src/index.ts';
import {
  buildDelivery,
  deliver,
  fixture,
  fixtureNames,
  testReceiver,
  testSecret,
} from '../../src/testing/index.ts';

const bodyOf = (delivery: { body: Buffer }): unknown => JSON.parse(delivery.body.toString());

describe('a fixture', () => {
  it('comes with its headers and its raw bytes', () => {
    const { name, description, headers, body } = fixture('call-ended');
    expect({ name, description }).toEqual({ name: 'call-ended', description: 'A call ended.' });
    expect(headers['x-webhook-traceid']).toBe('trace-call-ended');
    expect(bodyOf({ body })).toMatchObject({ eventName: 'CallHandler.CallEnded' });
  });

  it('keeps bytes that no JSON object holds', () => {
    expect(fixture('big-numeric-ids').body.toString()).toContain('"call_id":1234567890123456789,');
    expect(fixture('unreadable-not-json').body.toString()).toMatch(/"payl$/);
  });

  it.each(['call-over', '../package', 'call-ended.json'])('of the name %s is unknown', (name) => {
    expect(() => fixture(name)).toThrow(
      expect.objectContaining({ code: 'fixture_unknown', message: expect.stringContaining('call-ended') }),
    );
    expect(() => buildDelivery(name)).toThrow(
      /there is no such fixture\. To send a file, pass its parsed JSON\./,
    );
  });
});

describe('a delivery built from', () => {
  it.each(fixtureNames())('%s is signed with the test secret, and its time is now', (name) => {
    const { body, headers } = buildDelivery(name);
    expect(verify(body, headers, { secrets: testSecret })).toMatchObject({ ok: true });
    expect(body.equals(fixture(name).body)).toBe(true);
  });

  it('a megabyte of transcript is signed like any other', () => {
    const { body, headers } = buildDelivery(largeFixtures['transcript-1mb']);
    expect(verify(body, headers, { secrets: testSecret })).toMatchObject({ ok: true });
    expect(body.byteLength).toBeGreaterThan(1024 ** 2);
  });

  it('refuses an unknown option', () => {
    expect(() => buildDelivery('call-ended', { secrets: testSecret } as object)).toThrow(
      /Did you mean secret\?$/,
    );
  });

  it.each([undefined, null, 42])('%s is refused with a sentence', (source) => {
    expect(() => buildDelivery(source as never)).toThrow(
      `The option buildDelivery(source) should be a fixture's name, an object to be sent as JSON, or raw bytes, but is ${source}.`,
    );
  });

  it.each(['t-v1-hex-whole', 'v1-hex-whole'] as const)('refuses what is no time, also for %s', (scheme) => {
    for (const timestamp of [NaN, 1e18, new Date('tomorrow')])
      expect(() => buildDelivery('call-ended', { scheme, timestamp })).toThrow(
        'The option timestamp should be a Date, milliseconds since 1970 or a text that is a time, but is not a time.',
      );
  });

  it('an object is sent as JSON, with the headers that its fields name', () => {
    const delivery = buildDelivery({ traceId: 'trace-1', eventName: 'A.B', payload: {} });
    expect(bodyOf(delivery)).toEqual({ traceId: 'trace-1', eventName: 'A.B', payload: {} });
    expect(delivery.headers).toMatchObject({
      'content-type': 'application/json',
      'x-webhook-event': 'A.B',
      'x-webhook-traceid': 'trace-1',
    });
  });

  it.each(['call-ended', 'big-numeric-ids', 'unreadable-not-json'])(
    'the parsed file of %s is that fixture',
    (name) => {
      const file = new URL(`../../fixtures/${name}.json`, import.meta.url);
      const { body, headers } = buildDelivery(JSON.parse(readFileSync(file, 'utf8')));
      expect(body.equals(fixture(name).body)).toBe(true);
      expect(headers['x-webhook-traceid']).toBe(fixture(name).headers['x-webhook-traceid']);
    },
  );

  it('an event that the inbox has printed is that delivery again', async () => {
    const receiver = testReceiver();
    onTestFinished(() => receiver.stop());
    await receiver.start();
    const delivery = buildDelivery('call-ended', { traceId: 'trace-1' });
    await deliver(receiver, delivery);
    const printed = JSON.stringify(await receiver.events.get('trace-1'));
    const again = buildDelivery(JSON.parse(printed));
    expect(bodyOf(again)).toEqual(bodyOf(delivery));
    expect(again.headers).toMatchObject({ 'x-webhook-event': 'CallHandler.CallEnded' });
  });

  it('raw bytes is those bytes', () => {
    const bytes = new Uint8Array([0xff, 0x00]);
    const { body, headers } = buildDelivery(bytes);
    expect([...body]).toEqual([...bytes]);
    expect(headers).not.toHaveProperty('x-webhook-event');
    expect(verify(body, headers, { secrets: testSecret })).toMatchObject({ ok: true });
  });
});

describe('a delivery has', () => {
  it('another trace id, in header and body', () => {
    for (const name of ['call-ended', 'call-transferred-flat', 'big-numeric-ids']) {
      const delivery = buildDelivery(name, { traceId: 'trace-new' });
      expect(bodyOf(delivery)).toMatchObject({ traceId: 'trace-new' });
      expect(delivery.headers['x-webhook-traceid']).toBe('trace-new');
    }
  });

  it('another call id, where the event has it', () => {
    expect(bodyOf(buildDelivery('call-ended', { callId: 'call_new' }))).toMatchObject({
      payload: { call_id: 'call_new' },
    });
    expect(bodyOf(buildDelivery('call-transferred-flat', { callId: 'call_new' }))).toMatchObject({
      call_id: 'call_new',
    });
  });

  it('keeps the digits of ids that it is not told to change', () => {
    const { body } = buildDelivery('big-numeric-ids', { traceId: 'trace-new' });
    expect(body.toString()).toContain('1234567890123456789');
  });

  it('the secret, the scheme, the time and the headers that were asked for', () => {
    const secret = ['whsec_b25l', 'whsec_dHdv'];
    const { body, headers } = buildDelivery('call-ended', {
      secret,
      scheme: 'v1-timestamp-hex-whole',
      timestamp: new Date('2026-03-02T10:00:00Z'),
      headers: { 'X-Extra': 'one', 'X-Webhook-Event': undefined },
    });
    expect(headers).toMatchObject({ 'x-webhook-timestamp': '2026-03-02T10:00:00.000Z', 'x-extra': 'one' });
    expect(headers).not.toHaveProperty('x-webhook-event');
    const now = Date.parse('2026-03-02T10:01:00Z');
    for (const secrets of secret) {
      expect(verify(body, headers, { secrets, signature: 'v1-timestamp-hex-whole', now })).toMatchObject({
        ok: true,
      });
    }
  });
});
