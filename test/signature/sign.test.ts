import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { knownSchemes } from '../../src/signature/schemes.ts';
import { sign, verify } from '../../src/signature/sign-and-verify.ts';
import { iso, now, one, seconds, two, untyped } from './helpers.ts';
import vectors from './vectors.json' with { type: 'json' };

describe('signatures computed by Python', () => {
  test('cover every known scheme', () => {
    expect(new Set(vectors.vectors.map((vector) => vector.scheme))).toEqual(new Set(knownSchemes.keys()));
  });

  test.each(vectors.vectors)(
    '$scheme over a body that is $body',
    ({ scheme: name, bodyBase64, ...vector }) => {
      const scheme = knownSchemes.get(untyped(name));
      if (scheme === undefined) throw new Error(`${name} is no known scheme any more`);
      const body = Buffer.from(bodyBase64, 'base64');
      const headers: Record<string, string> = vector.headers;
      const { secret, traceId, timestamp } = vectors;

      const signed = sign(body, { secrets: secret, scheme, traceId, timestamp: new Date(timestamp) });
      expect(signed).toEqual(headers);
      const expected = { ok: true, scheme };
      expect(verify(body, headers, { secrets: secret, signature: scheme, now })).toMatchObject(expected);
      expect(verify(body, headers, { secrets: secret, now })).toMatchObject(expected);
    },
  );
});

describe('the standardwebhooks package', () => {
  const scheme = 'standard-webhooks-suffix-base64';
  const body = '{"traceId":"trace-1","note":"café"}';

  test('verifies what we sign', () => {
    // The package uses the machine's time, so in this test we sign with the machine's time as well.
    const headers = sign(body, { secrets: [two, one], scheme, traceId: 'trace-1' });
    expect(new Webhook(one).verify(body, headers)).toEqual(JSON.parse(body));
    expect(new Webhook(two).verify(body, headers)).toEqual(JSON.parse(body));
  });

  test('signs what we verify', () => {
    const headers = {
      'webhook-id': 'trace-1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1a,ignored ${new Webhook(one).sign('trace-1', new Date(now), body)}`,
    };
    for (const signature of [scheme, 'auto'] as const) {
      const verification = verify(body, headers, { secrets: [two, one], signature, now });
      expect(verification).toMatchObject({ ok: true, timestampSigned: true });
    }
  });
});

describe('sign', () => {
  test('writes t and v1 by default', () => {
    const headers = sign('{}', { secrets: one, timestamp: now });
    expect(headers).toEqual({
      'x-webhook-signature': expect.stringMatching(/^t=1767225600,v1=[0-9a-f]{64}$/),
    });
  });

  test('writes one signature for each secret, as during a rotation', () => {
    const old = sign('{}', { secrets: one, scheme: 'v1-hex-whole' })['x-webhook-signature'];
    const fresh = sign('{}', { secrets: two, scheme: 'v1-hex-whole' })['x-webhook-signature'];
    const both = sign('{}', { secrets: [one, two], scheme: 'v1-hex-whole' })['x-webhook-signature'];
    expect(both).toBe(`${old},${fresh}`);
  });

  test('returns the headers that are signed', () => {
    const options = { secrets: one, traceId: 'trace-1', timestamp: new Date(now) };
    expect(sign('{}', { ...options, scheme: 'x-standard-webhooks-whole' })).toMatchObject({
      'x-webhook-traceid': 'trace-1',
      'x-webhook-timestamp': iso,
    });
    expect(sign('{}', { ...options, scheme: 'standard-webhooks-whole' })).toMatchObject({
      'webhook-id': 'trace-1',
      'webhook-timestamp': String(seconds),
    });
    expect(Object.keys(sign('{}', { ...options, scheme: 'v1-hex-whole' }))).toEqual(['x-webhook-signature']);
  });

  test('sends a timestamp given as text, and its t, as they are', () => {
    const timestamp = '2026-01-01T01:00:00.123456789+01:00';
    expect(sign('{}', { secrets: one, scheme: 'v1-timestamp-hex-whole', timestamp })).toMatchObject({
      'x-webhook-timestamp': timestamp,
    });
    expect(sign('{}', { secrets: one, timestamp })['x-webhook-signature']).toMatch(/^t=1767225600,/);
    expect(sign('{}', { secrets: one, t: 'soon' })['x-webhook-signature']).toMatch(/^t=soon,/);
  });

  test('signs bytes as bytes', () => {
    const body = Uint8Array.of(0xff, 0x00, 0xfe);
    const expected = createHmac('sha512', one).update(body).digest('base64');
    const scheme = {
      header: 'X-Other',
      syntax: 'bare',
      content: '{body}',
      encoding: 'base64',
      hash: 'sha512',
      key: 'whole',
    } as const;
    expect(sign(body, { secrets: one, scheme })).toEqual({ 'x-other': expected });
  });

  test.each([
    ['an unknown scheme', { secrets: one, scheme: untyped('t-v2') }],
    ['a missing trace id', { secrets: one, scheme: 'standard-webhooks-whole' as const }],
    [
      'a line break in the trace id',
      { secrets: one, scheme: 'standard-webhooks-whole' as const, traceId: 'a\nb: c' },
    ],
    ['a comma in t', { secrets: one, t: '1,v1=00' }],
    ['a semicolon in t', { secrets: one, t: '1;v1=00' }],
    ['a time that is none', { secrets: one, timestamp: new Date(NaN) }],
    ['a text that is no time, where t is needed', { secrets: one, timestamp: 'yesterday' }],
    [
      'a scheme that the secret has no key for',
      { secrets: 'whsec_made-up!', scheme: 'v1-hex-suffix-base64' as const },
    ],
  ])('refuses %s', (_, options) => {
    expect(() => sign('{}', options)).toThrow(expect.objectContaining({ code: 'option_invalid' }));
  });

  test('refuses a body that was parsed, and says what to do', () => {
    expect(() => sign(untyped({}), { secrets: one })).toThrow(/raw bytes .* express\.raw/);
  });
});
