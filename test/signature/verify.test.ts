import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { knownSchemes, schemeNamed, resolveSchemes } from '../../src/signature/schemes.ts';
import type { SchemeName } from '../../src/signature/schemes.ts';
import { fingerprint, prepareSecrets } from '../../src/signature/secrets.ts';
import { sign, verify } from '../../src/signature/sign-and-verify.ts';
import { signatureReasons, verifySignature } from '../../src/signature/verify.ts';
import { iso, minutes, now, one, seconds, two, untyped } from './helpers.ts';
import { anyText } from '../support/any-text.ts';

const body = '{"traceId":"trace-1"}';
const names = [...knownSchemes.keys()];
const header = 'x-webhook-signature';

function signed(scheme: SchemeName, secrets: string | string[] = one) {
  return sign(body, { secrets, scheme, traceId: 'trace-1', timestamp: now });
}

function signatureOf(scheme: SchemeName, secrets: string | string[] = one): string {
  return signed(scheme, secrets)[header] ?? '';
}

test('an unknown option of verify or sign is refused: the one calls a scheme signature, the other scheme', () => {
  const headers = signed('v1-hex-whole');
  const wrong = (options: object) => () => verify(body, headers, untyped({ secrets: one, ...options }));
  expect(wrong({ scheme: 't-v1-hex-whole' })).toThrow(/There is no option scheme in verify/);
  expect(wrong({ tolerence: '2h' })).toThrow(/Did you mean tolerance/);
  expect(() => sign(body, untyped({ secrets: one, signature: 'v1-hex-whole' }))).toThrow(
    /There is no option signature in sign/,
  );
  expect(() => verify(body, headers, untyped(undefined))).toThrow(/verify\(options\) should be an object/);
  expect(() => sign(body, untyped(null))).toThrow(/sign\(options\) should be an object/);
});

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  ['x-webhook-signature: v1=00', 'of type string'],
])('headers that are none are refused in a sentence: %s', (headers, found) => {
  const problem = expect.objectContaining({
    code: 'option_invalid',
    message: `The option headers should be the headers of the request, an object or Headers, but is ${found}.`,
  });
  expect(() => verify(body, untyped(headers), { secrets: one })).toThrow(problem);
});

describe('what verifies', () => {
  test('every known scheme, with any body, pinned or tried', () => {
    const check = (bytes: Uint8Array, name: SchemeName) => {
      const headers = sign(bytes, { secrets: one, scheme: name, traceId: 'trace-1', timestamp: now });
      const timestampSigned = /^t-|timestamp|standard/.test(name);
      const expected = { ok: true, scheme: schemeNamed(name), secret: fingerprint(one), timestampSigned };
      expect(verify(bytes, headers, { secrets: one, signature: name, now })).toEqual(expected);
      expect(verify(bytes, headers, { secrets: [two, one], now })).toEqual(expected);
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...names), check), {
      numRuns: 300,
    });
  });

  test.each([
    ['the old secret of two signatures', [one, two], one],
    ['the new secret of two signatures', [one, two], two],
    ['one signature by the old of two secrets', one, [two, one]],
    ['one signature by the new of two secrets', two, [two, one]],
  ])('%s', (_, signedBy, secrets) => {
    for (const name of names) {
      const verification = verify(body, signed(name, signedBy), { secrets, signature: name, now });
      expect(verification).toMatchObject({ ok: true });
    }
  });

  test('a body given as text, as bytes, or as part of a larger buffer', () => {
    const headers = signed('v1-hex-whole');
    const part = Buffer.from(`--${body}--`).subarray(2, -2);
    for (const given of [body, Buffer.from(body), new TextEncoder().encode(body), part]) {
      expect(verify(given, headers, { secrets: one })).toMatchObject({ ok: true });
    }
  });

  test('headers in any case, as fetch has them, or as lines', () => {
    const signature = signatureOf('v1-hex-whole');
    const other = `v1=${'0'.repeat(64)}`;
    const forms = [
      { 'X-Webhook-Signature': signature },
      new Headers({ 'X-Webhook-Signature': signature }),
      { [header]: [signature] },
      { [header]: [other, signature] },
      { [header]: `${other}, ${signature}` },
      { 'X-Webhook-Signature': other, [header]: signature },
    ];
    for (const headers of forms)
      expect(verify(body, headers, { secrets: one, now })).toMatchObject({ ok: true });
  });

  test.each([
    ['upper-case hex', (text: string) => text.replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase())],
    ['unknown keys', (text: string) => `v0=00,${text},nonce=1,v2=ff`],
    ['blanks', (text: string) => ` ${text.replace(',', ' , ')} `],
    ['semicolons', (text: string) => text.replace(',', ';')],
    ['the time repeated on a second line', (text: string) => `${text}, ${text}`],
  ])('%s', (_, change) => {
    const headers = { [header]: change(signatureOf('t-v1-hex-whole')) };
    expect(verify(body, headers, { secrets: one, signature: 't-v1-hex-whole', now })).toMatchObject({
      ok: true,
    });
  });

  test('base64 without padding', () => {
    for (const name of ['v1-base64-whole', 'x-standard-webhooks-whole'] as const) {
      const headers = { ...signed(name), [header]: signatureOf(name).replace(/=+$/, '') };
      expect(verify(body, headers, { secrets: one, signature: name, now })).toMatchObject({ ok: true });
    }
  });

  test('two Standard Webhooks signatures, however the lines were joined', () => {
    const name = 'x-standard-webhooks-whole';
    const [old, fresh] = signatureOf(name, [one, two]).split(' ');
    for (const text of [`${old} ${fresh}`, `${old}, ${fresh}`, `${old},${fresh}`]) {
      const headers = { ...signed(name), [header]: text };
      expect(verify(body, headers, { secrets: two, signature: name, now })).toMatchObject({ ok: true });
    }
  });

  test('a secret that has no base64 key, where another kind of key signed', () => {
    const secrets = 'whsec_made-up!';
    const headers = sign(body, { secrets, scheme: 't-v1-hex-suffix', timestamp: now });
    expect(verify(body, headers, { secrets, now })).toMatchObject({ ok: true });
    const signature = 't-v1-hex-suffix-base64';
    expect(verify(body, headers, { secrets, signature, now })).toEqual({
      ok: false,
      reason: 'signature_mismatch',
    });
  });
});

describe('what is refused', () => {
  const pinned = { secrets: one, signature: 't-v1-hex-whole', now } as const;
  const good = signatureOf('t-v1-hex-whole');

  test('a body that was changed', () => {
    for (const name of names) {
      const changed = body.replace('1', '2');
      const options = { secrets: one, signature: name, now };
      expect(verify(changed, signed(name), options)).toEqual({ ok: false, reason: 'signature_mismatch' });
    }
  });

  test('a time or a trace id that was changed', () => {
    const options = { secrets: one, now };
    const t = good.replace(String(seconds), String(seconds + 1));
    const timestamp = {
      ...signed('v1-timestamp-hex-whole'),
      'x-webhook-timestamp': '2026-01-01T00:00:00.001Z',
    };
    const id = { ...signed('standard-webhooks-suffix-base64'), 'webhook-id': 'trace-2' };
    for (const headers of [{ [header]: t }, timestamp, id]) {
      expect(verify(body, headers, options)).toEqual({ ok: false, reason: 'signature_mismatch' });
    }
  });

  test('another secret', () => {
    for (const name of names) expect(verify(body, signed(name), { secrets: two, now }).ok).toBe(false);
  });

  test.each([
    ['no header', {}, 'signature_missing'],
    ['an empty header', { [header]: '' }, 'signature_missing'],
    ['no lines', { [header]: [] }, 'signature_missing'],
    ['another syntax', { [header]: good.replace('v1=', 'sha256=') }, 'signature_malformed'],
    ['a truncated signature', { [header]: good.slice(0, -1) }, 'signature_malformed'],
    ['a letter that is not hex', { [header]: good.replace(/.$/, 'g') }, 'signature_malformed'],
    ['two times', { [header]: `t=1,${good}` }, 'signature_malformed'],
    ['no time', { [header]: good.replace(/^t=\d+,/, '') }, 'timestamp_missing'],
    [
      '10,000 signatures',
      { [header]: `${good},${`v1=${'0'.repeat(64)},`.repeat(10_000)}` },
      'signature_malformed',
    ],
    ['10,000 short entries', { [header]: `${good},${'v1=,'.repeat(1_900)}` }, 'signature_malformed'],
    ['17 signatures', { [header]: `${good},${`v1=${'0'.repeat(64)},`.repeat(16)}` }, 'signature_malformed'],
  ])('%s', (_, headers, reason) => {
    expect(verify(body, headers, pinned)).toEqual({ ok: false, reason });
  });

  test('a header that is longer than 8,192 characters, by one', () => {
    const longest = `${good},x=`.padEnd(8_192, '0');
    expect(verify(body, { [header]: longest }, pinned).ok).toBe(true);
    expect(verify(body, { [header]: `${longest}0` }, pinned)).toEqual({
      ok: false,
      reason: 'signature_malformed',
    });
  });

  test('a missing part of what is signed', () => {
    const { 'x-webhook-timestamp': _, ...untimed } = signed('v1-timestamp-hex-whole');
    const signature = 'v1-timestamp-hex-whole';
    const options = { secrets: one, signature, now } as const;
    expect(verify(body, untimed, options)).toEqual({ ok: false, reason: 'timestamp_missing' });
    const standard = 'x-standard-webhooks-whole';
    const { 'x-webhook-traceid': __, ...unnamed } = signed(standard);
    expect(verify(body, unnamed, { secrets: one, signature: standard, now }).ok).toBe(false);
  });

  test('any other spelling of a base64 signature', () => {
    const options = { secrets: one, signature: 'v1-base64-whole', now } as const;
    const text = signatureOf('v1-base64-whole');
    const others = [
      text.replace(/.=$/, (end) => String.fromCodePoint((end.codePointAt(0) ?? 0) + 1) + end.slice(1)),
      `${text.slice(0, 20)}!${text.slice(20)}`,
      text.replace(/=$/, '!'),
      `${text}=`,
    ];
    for (const other of others) expect(verify(body, { [header]: other }, options).ok).toBe(false);
  });

  test('a signature made with the empty key', async () => {
    const { createHmac } = await import('node:crypto');
    const signature = createHmac('sha256', '').update(body).digest('hex');
    expect(verify(body, { [header]: `v1=${signature}` }, { secrets: 'whsec_=', now }).ok).toBe(false);
  });

  test('any unauthenticated input, without a throw and with a reason from the list', () => {
    const words = fc.constantFrom(
      'v1=',
      'v1,',
      't=',
      'sha256=',
      ',',
      ' ',
      '0'.repeat(64),
      `${'A'.repeat(43)}=`,
      iso,
    );
    const text = fc.oneof(
      anyText,
      fc.array(words, { maxLength: 12 }).map((all) => all.join('')),
    );
    const value = fc.oneof(text, fc.array(text, { maxLength: 3 }));
    const sent = fc.dictionary(
      fc.constantFrom(header, 'webhook-signature', 'webhook-id', 'webhook-timestamp', 'x-webhook-timestamp'),
      value,
    );
    const secrets = prepareSecrets([one, two]);
    const schemes = resolveSchemes('auto');
    const check = (bytes: Uint8Array, headers: Record<string, string | string[]>) => {
      const verification = verifySignature(bytes, headers, secrets, schemes, { now, tolerance: 5 * minutes });
      expect(verification).toEqual({
        ok: false,
        reason: expect.toSatisfy((reason) => signatureReasons.includes(reason)),
      });
    };
    fc.assert(fc.property(fc.uint8Array(), sent, check), { numRuns: 1_000 });
  });
});

describe('the time', () => {
  const tooFar = { ok: false, reason: 'timestamp_out_of_tolerance' };

  test.each(['t-v1-hex-whole', 'v1-timestamp-hex-whole', 'standard-webhooks-suffix-base64'] as const)(
    'signed by %s may be off by exactly the tolerance, both ways',
    (signature) => {
      const check = (offset: number) =>
        verify(body, signed(signature), { secrets: one, signature, tolerance: '5m', now: now + offset });
      for (const offset of [-5 * minutes, 0, 5 * minutes]) expect(check(offset)).toMatchObject({ ok: true });
      for (const offset of [-5 * minutes - 1, 5 * minutes + 1]) expect(check(offset)).toEqual(tooFar);
      expect(verify(body, signed(signature), { secrets: one, tolerance: 0, now: new Date(now) }).ok).toBe(
        true,
      );
    },
  );

  test.each([
    ['nanoseconds and an offset', '2026-01-01T01:00:00.000000001+01:00'],
    ['seconds', String(seconds)],
    ['milliseconds', String(now)],
  ])('may be sent as %s', (_, timestamp) => {
    const headers = sign(body, { secrets: one, scheme: 'v1-timestamp-hex-whole', timestamp });
    expect(verify(body, headers, { secrets: one, now, tolerance: 1 })).toMatchObject({ ok: true });
  });

  test('t may be in milliseconds', () => {
    expect(verify(body, sign(body, { secrets: one, t: now }), { secrets: one, now })).toMatchObject({
      ok: true,
    });
  });

  test('a signed time must be readable', () => {
    const unreadable = { ok: false, reason: 'timestamp_unreadable' };
    const t = sign(body, { secrets: one, t: 'soon' });
    const timestamp = sign(body, { secrets: one, scheme: 'v1-timestamp-hex-whole', timestamp: 'soon' });
    for (const headers of [t, timestamp])
      expect(verify(body, headers, { secrets: one, now })).toEqual(unreadable);
  });

  test('an unsigned time is looked at when it can be read', () => {
    const check = (timestamp: string | undefined) =>
      verify(body, { ...signed('v1-hex-whole'), 'x-webhook-timestamp': timestamp }, { secrets: one, now });
    for (const timestamp of [iso, undefined, 'soon', '']) {
      expect(check(timestamp)).toMatchObject({ ok: true, timestampSigned: false });
    }
    expect(check('2025-12-31T23:54:59.999Z')).toEqual(tooFar);
    expect(check('2026-01-01T00:05:00.001Z')).toEqual(tooFar);
  });

  test('no time is reported if the signature does not match', () => {
    const verification = verify(body, signed('t-v1-hex-whole'), { secrets: two, now: 0 });
    expect(verification).toEqual({ ok: false, reason: 'signature_mismatch' });
  });
});

describe('options that can’t be', () => {
  test.each([
    ['a secret without its prefix', { secrets: 'made-up' }, 'secret_malformed'],
    ['no secrets', { secrets: [] }, 'option_invalid'],
    ['an unknown scheme', { secrets: one, signature: untyped('v9') }, 'option_invalid'],
    ['a tolerance that is no duration', { secrets: one, tolerance: untyped('5 parsecs') }, 'option_invalid'],
    ['a negative tolerance', { secrets: one, tolerance: -1 }, 'option_invalid'],
    ['a now that is no time', { secrets: one, now: NaN }, 'option_invalid'],
  ])('%s', (_, options, code) => {
    expect(() => verify(body, {}, options)).toThrow(expect.objectContaining({ name: 'ConfigError', code }));
  });

  test('a body that was parsed already', () => {
    expect(() => verify(untyped(JSON.parse(body)), {}, { secrets: one })).toThrow(/raw bytes/);
  });
});
