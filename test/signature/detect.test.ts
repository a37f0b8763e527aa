import { expect, test } from 'vitest';
import { detectLayout } from '../../src/signature/detect.ts';
import { knownLayouts } from '../../src/signature/layouts.ts';
import { fingerprint } from '../../src/signature/secrets.ts';
import { sign } from '../../src/signature/sign.ts';
import { iso, now, one, two } from './helpers.ts';

test.each([...knownLayouts])('finds %s, and nothing else', (name, layout) => {
  const samples = ['{"n":1}', '{"n":2}'].map((body, index) => {
    const options = { secrets: two, layout, traceId: `trace-${index}`, timestamp: now + index };
    const common = { 'x-webhook-traceid': `trace-${index}`, 'x-webhook-timestamp': iso, host: 'example.com' };
    return { body, headers: { ...common, ...sign(body, options) } };
  });
  const found = detectLayout(samples, [one, two]);
  expect(found).toEqual([
    {
      layout,
      option: name,
      timestampSigned: /\{t/.test(layout.content),
      secrets: [fingerprint(two), fingerprint(two)],
    },
  ]);
});

test('finds a layout that is not known, in another header', () => {
  const layout = {
    header: 'x-other-signature',
    syntax: 'bare',
    content: '{timestamp}:{body}',
    encoding: 'base64',
    hash: 'sha512',
    key: 'suffix',
  } as const;
  const headers = new Headers(sign('{}', { secrets: one, layout, timestamp: now }));
  const [found, ...others] = detectLayout([{ body: '{}', headers }], one);
  expect(found?.layout).toEqual(layout);
  expect(JSON.parse(found?.option ?? '')).toEqual(layout);
  expect(others).toEqual([]);
});

test('finds nothing when one sample is not of the layout, or when there is none', () => {
  const good = { body: '{}', headers: sign('{}', { secrets: one }) };
  const tampered = { body: '{ }', headers: good.headers };
  expect(detectLayout([good], one)).toHaveLength(1);
  expect(detectLayout([good, tampered], one)).toEqual([]);
  expect(detectLayout([good], two)).toEqual([]);
  expect(detectLayout([], one)).toEqual([]);
});
