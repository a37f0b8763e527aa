import { expect, test } from 'vitest';
import { hostName, isAddressLiteral } from '../../src/kit/addresses.ts';

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
