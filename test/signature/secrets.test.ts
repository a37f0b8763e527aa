import { type KeyObject, createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../src/signature/content.ts';
import { fingerprint, prepareSecrets } from '../../src/signature/secrets.ts';
import { one, two, untyped } from './helpers.ts';

/** Compares a key with bytes through their digests, because a key doesn't give out its bytes. */
function isKeyOf(key: KeyObject | undefined, bytes: Buffer): boolean {
  const expected = createHmac('sha256', bytes).update('content').digest();
  return key !== undefined && digestOf('sha256', key, '', Buffer.from('content'), '').equals(expected);
}

describe('prepareSecrets', () => {
  test.each([
    ['', 'is empty'],
    ['  ', 'is empty'],
    ['made-up-and-unprefixed', 'does not start with whsec_'],
    [' whsec_bWFkZS11cA', 'has a blank or a line break around it'],
    [' made-up-and-unprefixed', 'does not start with whsec_'],
    ['WHSEC_bWFkZS11cA', 'does not start with whsec_'],
    ['"whsec_bWFkZS11cA"', 'begins with a quotation mark'],
    ['whsec_', 'has nothing after whsec_'],
    ['whsec_\n', 'has nothing after whsec_'],
    ['whsec_bWFkZS11cA\n', 'has a blank or a line break around it'],
    ['whsec_bWFkZS11cA # of a file', 'has a blank or a line break in it'],
    ['whsec_bWFkZS11cA,whsec_dHdv', 'contains another secret'],
    [undefined, 'is of type undefined'],
    [null, 'is null'],
    [42, 'is of type number'],
  ])('refuses %j and says that it %s', (secret, found) => {
    const prepare = () => prepareSecrets([one, untyped(secret)]);
    expect(prepare).toThrow(expect.objectContaining({ name: 'ConfigError', code: 'secret_malformed' }));
    expect(prepare).toThrow(`Secret 2 should be`);
    expect(prepare).toThrow(`but it ${found}.`);
    expect(prepare).not.toThrow(/unprefixed|bWFkZS11cA/);
  });

  test.each([
    ['whsec_bWFkZS11cA\n', 'Remove that, for example with trim().'],
    ['whsec_bWFkZS11cA,whsec_dHdv', 'Pass several secrets as a list'],
    ["'whsec_bWFkZS11cA'", 'Remove the quotation marks.'],
    ['whsec_', 'Copy the whole secret'],
  ])('says what to do about %j', (secret, fix) => {
    expect(() => prepareSecrets(secret)).toThrow(fix);
  });

  test('refuses an empty list', () => {
    expect(() => prepareSecrets([])).toThrow(expect.objectContaining({ code: 'option_invalid' }));
  });

  test('counts a repeated secret once', () => {
    expect(prepareSecrets([one, two, one])).toHaveLength(2);
    expect(prepareSecrets(one)).toHaveLength(1);
  });

  test.each([
    ['whsec_dGVzdDE=', 'test1'],
    ['whsec_dGVzdDE', 'test1'],
    ['whsec_dGVzdA==', 'test'],
    ['whsec_dGVzdA', 'test'],
    ['whsec_+/+/', '\xfb\xff\xbf'],
  ])('decodes the base64 of %s', (secret, key) => {
    const [prepared] = prepareSecrets(secret);
    expect(isKeyOf(prepared?.keys['suffix-base64'], Buffer.from(key, 'latin1'))).toBe(true);
  });

  test.each(['whsec_not-base64', 'whsec_dGVzdA=', 'whsec_dGVz=', 'whsec_dGVzd', 'whsec_=', 'whsec_=='])(
    'finds no base64 key in %s',
    (secret) => {
      const [prepared] = prepareSecrets(secret);
      expect(prepared?.keys['suffix-base64']).toBeUndefined();
      expect(isKeyOf(prepared?.keys.whole, Buffer.from(secret))).toBe(true);
      expect(isKeyOf(prepared?.keys.suffix, Buffer.from(secret.slice(6)))).toBe(true);
    },
  );

  test('keeps the text of the secret out of logs', () => {
    const shown =
      inspect(prepareSecrets(one), { depth: 9, showHidden: true }) + JSON.stringify(prepareSecrets(one));
    expect(shown).not.toContain(one.slice(6));
  });
});

test('a fingerprint is eight hex digits of the SHA-256', () => {
  // printf %s whsec_dGVzdC1zZWNyZXQtb25l | sha256sum | cut -c1-8
  expect(fingerprint(one)).toBe('5cf0a57e');
});
