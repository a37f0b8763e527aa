import { expect, test } from 'vitest';
import { clientAddress, compileTrustProxy } from '../../src/kit/trust-proxy.ts';

const forwardedFor = (value: string) => ({ 'x-forwarded-for': value });

test.each<[string, unknown, Record<string, string>, string]>([
  ['the peer, where nobody is trusted', false, forwardedFor('192.0.2.1'), '127.0.0.1'],
  ['the peer, of which nothing is said', 'loopback', {}, '127.0.0.1'],
  ['the peer, where no address is said', 'loopback', forwardedFor('unknown'), '127.0.0.1'],
  ['what the trusted peer has added last', 'loopback', forwardedFor('198.51.100.1, 192.0.2.1'), '192.0.2.1'],
  ['behind two trusted proxies', 'loopback', forwardedFor('192.0.2.1, 127.0.0.2'), '192.0.2.1'],
  ['as many hops away as are trusted', 2, forwardedFor('198.51.100.1, 192.0.2.1, 192.0.2.2'), '192.0.2.1'],
  ['written with its port', 'loopback', forwardedFor('192.0.2.1:4711'), '192.0.2.1'],
  ['of IPv6, with its port', 'loopback', forwardedFor('[2001:db8::1]:4711'), '2001:db8::1'],
  ['of IPv6', 'loopback', forwardedFor('2001:db8::1'), '2001:db8::1'],
  ['in Forwarded', 'loopback', { forwarded: 'for="[2001:db8::1]:80";proto=https' }, '2001:db8::1'],
])('the client is %s', (_, setting, headers, client) => {
  const trusts = compileTrustProxy(setting) ?? (() => false);
  expect(clientAddress('127.0.0.1', headers, trusts)).toBe(client);
});
