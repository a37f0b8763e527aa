import { expect, test } from 'vitest';
import { addressMatcher, hostName, isAddressLiteral, networkOf } from '../../src/kit/addresses.ts';

test.each(['127.0.0.1:8080', '127.0.0.1.', '0x7f.1', '2130706433', '[::1]:80', '[::1]'])(
  '%s is an address, however it is written',
  (host) => {
    expect(isAddressLiteral(hostName(host) ?? '')).toBe(true);
  },
);

test.each(['Calls.Example.com:443', 'calls.example.com.', 'calls.example.com'])('%s is a name', (host) => {
  expect(hostName(host)).toBe('calls.example.com');
  expect(isAddressLiteral(hostName(host) ?? '')).toBe(false);
});

test('what is no host has no name', () => {
  expect(hostName('a b')).toBeUndefined();
});

test('a range may have a netmask, as Express takes it', () => {
  const isIn = addressMatcher(['10.1.0.0/255.255.0.0']);
  expect(isIn?.('10.1.2.3')).toBe(true);
  expect(isIn?.('10.2.2.3')).toBe(false);
  expect(addressMatcher(['10.1.2.3/255.255.255.255'])?.('10.1.2.3')).toBe(true);
  expect(addressMatcher(['10.1.2.3/0.0.0.0'])?.('192.0.2.1')).toBe(true);
  for (const wrong of ['10.1.0.0/255.0.255.0', '10.1.0.0/255.255', 'fc00::/255.255.0.0', '10.1.0.0/33'])
    expect(addressMatcher([wrong])).toBeUndefined();
});

test.each(['loopback', 'linklocal', 'uniquelocal'])('%s is the name of a range', (name) => {
  expect(addressMatcher([name])).toBeDefined();
});

test.each(['Loopback', 'constructor', 'toString', '__proto__', '', '10', '010.0.0.1', '2130706433'])(
  '"%s" is neither an address, nor a range, nor the name of one',
  (entry) => {
    expect(addressMatcher(['loopback', entry])).toBeUndefined();
  },
);

test('an address of a range may be mapped into IPv6, or have a zone', () => {
  const isIn = addressMatcher(['loopback', 'linklocal']);
  expect(isIn?.('::ffff:127.0.0.1')).toBe(true);
  expect(isIn?.('::FFFF:127.0.0.1')).toBe(true);
  expect(isIn?.('fe80::1%eth0')).toBe(true);
  expect(isIn?.('::ffff:192.0.2.1')).toBe(false);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', ''],
])('%s is of the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
