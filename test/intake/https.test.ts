import { describe, expect, test } from 'vitest';
import { bodyOf, deliveryOf, otherSecret, signedHeaders } from '../support/deliveries.ts';
import type { Delivery, ReceiverOptions, TrustProxySetting } from '../support/public.ts';
import { started } from '../support/receiver.ts';

type Https = NonNullable<ReceiverOptions['https']>;
type Headers = Delivery['headers'];

async function statusOf(https: Https, parts: Parameters<typeof deliveryOf>[0]): Promise<number> {
  const { receiver } = await started({ https });
  return (await receiver.take(deliveryOf(parts))).status;
}

const plain = { encrypted: false };
const refusesLater = (async () => false) as unknown as TrustProxySetting;

describe('HTTPS holds', () => {
  test('when the socket is TLS, whatever headers say', async () => {
    expect(await statusOf({}, { headers: { 'x-forwarded-proto': 'http' } })).toBe(200);
  });

  test.each<[TrustProxySetting, string, Headers]>([
    ['loopback', '127.0.0.1', { 'x-forwarded-proto': 'https' }],
    ['loopback', '::1', { 'x-forwarded-proto': 'HTTPS' }],
    ['loopback', '::ffff:127.0.0.1', { forwarded: 'for=192.0.2.60;proto=https;by=203.0.113.43' }],
    ['10.0.0.0/8, 192.0.2.7', '10.200.3.4', { forwarded: 'proto="https", proto=https' }],
    [['10.0.0.0/8', '192.0.2.7'], '192.0.2.7', { 'x-forwarded-proto': 'https,https' }],
    ['fd00::/8', 'fd12::1', { 'x-forwarded-proto': 'https' }],
    [1, '203.0.113.9', { 'x-forwarded-proto': 'https' }],
    [true, '203.0.113.9', { 'x-forwarded-proto': 'https', forwarded: 'proto=https' }],
  ])('when a proxy trusted by %j at %s says so', async (trustProxy, peerAddress, headers) => {
    expect(await statusOf({ trustProxy }, { ...plain, peerAddress, headers })).toBe(200);
  });

  test("when the app's own trust proxy trusts the peer, and the receiver has no setting", async () => {
    const parts = {
      ...plain,
      headers: { 'x-forwarded-proto': 'https' },
      appTrustProxy: (address: string) => address === '127.0.0.1',
    };
    expect(await statusOf({}, parts)).toBe(200);
    expect(await statusOf({ trustProxy: false }, parts)).toBe(403);
  });

  test('when it is not required, which is said in the log', async () => {
    const { receiver, logs } = await started({ https: { required: false } });
    expect((await receiver.take(deliveryOf(plain))).status).toBe(200);
    expect(logs.of('https_not_required')).toMatchObject([{ level: 40 }]);
  });
});

describe('HTTPS does not hold', () => {
  test.each<[string, TrustProxySetting, string, Headers]>([
    ['nobody says https', 'loopback', '127.0.0.1', {}],
    ['the proxy says http', 'loopback', '127.0.0.1', { 'x-forwarded-proto': 'http' }],
    ['the proxy is not trusted', 'loopback', '192.0.2.1', { 'x-forwarded-proto': 'https' }],
    ['the proxy is outside the range', '10.0.0.0/8', '11.0.0.1', { 'x-forwarded-proto': 'https' }],
    ['no hop is trusted', 0, '127.0.0.1', { 'x-forwarded-proto': 'https' }],
    ['nobody is trusted', false, '127.0.0.1', { 'x-forwarded-proto': 'https' }],
    ['it takes time to say no', refusesLater, '192.0.2.1', { 'x-forwarded-proto': 'https' }],
    ['one header contradicts itself', true, '127.0.0.1', { 'x-forwarded-proto': 'https, http' }],
    [
      'two headers contradict each other',
      true,
      '127.0.0.1',
      { 'x-forwarded-proto': 'https', forwarded: 'proto=http' },
    ],
  ])('when %s', async (_, trustProxy, peerAddress, headers) => {
    expect(await statusOf({ trustProxy }, { ...plain, peerAddress, headers })).toBe(403);
  });

  test('by default for any peer, and the first refusal says how to fix it', async () => {
    const { receiver, logs } = await started();
    const delivery = deliveryOf({ ...plain, headers: { 'x-forwarded-proto': 'https' } });
    for (let index = 0; index < 3; index += 1) expect((await receiver.take(delivery)).status).toBe(403);
    expect(logs.of('refusal_fix')).toMatchObject([
      {
        fix: expect.stringMatching(
          /127\.0\.0\.1 says https, but is not a trusted proxy: set https: \{ trustProxy/,
        ),
      },
    ]);
  });
});

test('refusals over plain HTTP do not use up the fixes of other refusals', async () => {
  const { receiver, logs } = await started();
  for (let peer = 1; peer <= 30; peer += 1)
    await receiver.take(deliveryOf({ ...plain, peerAddress: `192.0.2.${peer}` }));
  const body = bodyOf();
  await receiver.take(deliveryOf({ body, headers: signedHeaders(body, { secrets: otherSecret }) }));
  const reasons = logs.of('refusal_fix').map(({ reason }) => reason);
  expect(reasons.filter((reason) => reason === 'not_https')).toHaveLength(3);
  expect(reasons).toContain('signature_mismatch');
});

describe('the first refusal says what a proxy has to do', () => {
  test.each<[string, string, Headers, RegExp]>([
    [
      'that is trusted and says nothing',
      '127.0.0.1',
      {},
      /127\.0\.0\.1 did not say .* set X-Forwarded-Proto/,
    ],
    ['that is trusted and says http', '127.0.0.1', { 'x-forwarded-proto': 'http' }, /says .* plain HTTP/],
    ['that is not trusted, and may be none', '192.0.2.1', {}, /192\.0\.2\.1 sent a delivery over plain HTTP/],
  ])('%s', async (_, peerAddress, headers, fix) => {
    const { receiver, logs } = await started({ https: { trustProxy: 'loopback' } });
    await receiver.take(deliveryOf({ ...plain, peerAddress, headers }));
    expect(logs.of('refusal_fix')).toMatchObject([{ fix: expect.stringMatching(fix) }]);
  });
});

test('the first refusal of an IP address as a host says what it may be without a proxy', async () => {
  const { receiver, logs } = await started();
  await receiver.take(deliveryOf({ headers: { host: '192.0.2.1' } }));
  expect(logs.of('refusal_fix')).toMatchObject([
    { fix: expect.stringMatching(/Without a proxy, it is a scanner or a health check .* nothing to do\.$/) },
  ]);
});

describe('a host', () => {
  test.each<[string, Https, Headers, number]>([
    ['that is any name is answered to', {}, { host: 'anything.example.com' }, 200],
    ['with a port is answered to', {}, { host: 'calls.example.com:8443' }, 200],
    ['that is an IPv4 literal is refused', {}, { host: '192.0.2.1' }, 421],
    ['that is an IPv4 literal with a port is refused', {}, { host: '192.0.2.1:443' }, 421],
    ['that is an IPv6 literal is refused', {}, { host: '[2001:db8::1]:443' }, 421],
    ['that is listed is answered to', { hosts: ['calls.example.com'] }, {}, 200],
    ['that is listed, in any case', { hosts: ['Calls.Example.com'] }, { host: 'CALLS.example.COM:443' }, 200],
    ['that is not listed is refused', { hosts: ['calls.example.com'] }, { host: 'other.example.com' }, 421],
    ['that is a listed literal is answered to', { hosts: ['192.0.2.1'] }, { host: '192.0.2.1' }, 200],
    ['on HTTP/2 is the authority', { hosts: ['h2.example.com'] }, { ':authority': 'h2.example.com' }, 200],
    [
      'passed on by a trusted proxy counts',
      { hosts: ['calls.example.com'], trustProxy: 'loopback' },
      { host: 'internal', 'x-forwarded-host': 'calls.example.com' },
      200,
    ],
    [
      'passed on by anybody else does not',
      { hosts: ['calls.example.com'], trustProxy: false },
      { host: 'internal', 'x-forwarded-host': 'calls.example.com' },
      421,
    ],
    [
      'that is a literal is fine where HTTPS is not required',
      { required: false },
      { host: '127.0.0.1' },
      200,
    ],
  ])('%s', async (_, https, headers, status) => {
    expect(await statusOf(https, { headers })).toBe(status);
  });
});
