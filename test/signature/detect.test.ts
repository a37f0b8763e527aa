import { expect, test } from 'vitest';
import { detectScheme } from '../../src/signature/detect.ts';
import { knownSchemes } from '../../src/signature/schemes.ts';
import { fingerprint } from '../../src/signature/secrets.ts';
import { sign } from '../../src/signature/sign-and-verify.ts';
import { iso, now, one, two, unnamed } from './helpers.ts';

test.each([...knownSchemes])('finds %s, and nothing else', (name, scheme) => {
  const samples = ['{"n":1}', '{"n":2}'].map((body, index) => {
    const options = { secrets: two, scheme, traceId: `trace-${index}`, timestamp: now + index };
    const common = { 'x-webhook-traceid': `trace-${index}`, 'x-webhook-timestamp': iso, host: 'example.com' };
    return { body, headers: { ...common, ...sign(body, options) } };
  });
  const found = detectScheme(samples, [one, two]);
  expect(found).toEqual([
    {
      scheme,
      option: name,
      timestampSigned: /\{t/.test(scheme.content),
      secrets: [fingerprint(two), fingerprint(two)],
    },
  ]);
});

test('finds a scheme that is not known, in another header', () => {
  const headers = new Headers(sign('{}', { secrets: one, scheme: unnamed, timestamp: now }));
  const [found, ...others] = detectScheme([{ body: '{}', headers }], one);
  expect(found?.scheme).toEqual(unnamed);
  expect(JSON.parse(found?.option ?? '')).toEqual(unnamed);
  expect(others).toEqual([]);
});

test('finds nothing when one sample is not of the scheme, or when there is none', () => {
  const good = { body: '{}', headers: sign('{}', { secrets: one }) };
  const tampered = { body: '{ }', headers: good.headers };
  expect(detectScheme([good], one)).toHaveLength(1);
  expect(detectScheme([good, tampered], one)).toEqual([]);
  expect(detectScheme([good], two)).toEqual([]);
  expect(detectScheme([], one)).toEqual([]);
});
