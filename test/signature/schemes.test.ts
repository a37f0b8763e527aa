import { describe, expect, test } from 'vitest';
import {
  describeScheme,
  knownSchemes,
  schemeNamed,
  schemeSchema,
  resolveSchemes,
} from '../../src/signature/schemes.ts';
import { sign } from '../../src/signature/sign-and-verify.ts';
import { secret } from '../support/deliveries.ts';
import { unnamed, untyped } from './helpers.ts';

const custom = { ...unnamed, header: 'x-signature' } as const;

describe('known schemes', () => {
  test('are all different, and each is valid', () => {
    const schemes = [...knownSchemes.values()];
    expect(new Set(schemes.map((scheme) => JSON.stringify(scheme))).size).toBe(36);
    for (const scheme of schemes) expect(schemeSchema.parse(scheme)).toEqual(scheme);
  });

  test('are found by the name that describes them', () => {
    for (const [name, scheme] of knownSchemes) {
      expect(describeScheme({ ...scheme })).toBe(name);
      expect(schemeNamed(name)).toBe(scheme);
    }
    expect(schemeNamed('constructor')).toBeUndefined();
  });

  test('use SHA-256: SHA-512 is for a scheme that says so', () => {
    expect([...knownSchemes.values()].filter((scheme) => scheme.hash !== 'sha256')).toEqual([]);
  });
});

test('a scheme of one’s own is described as JSON that is a scheme again', () => {
  expect(schemeSchema.parse(JSON.parse(describeScheme(custom)))).toEqual(custom);
});

describe('the scheme schema', () => {
  test('puts the header in lower case, and has defaults for it and for the hash', () => {
    expect(schemeSchema.parse({ ...custom, header: 'X-Signature' }).header).toBe('x-signature');
    const { header: _, hash: __, ...rest } = custom;
    expect(schemeSchema.parse(rest)).toMatchObject({ header: 'x-webhook-signature', hash: 'sha256' });
  });

  test.each([
    ['no body', { content: '{t}.' }],
    ['two bodies', { content: '{body}{body}' }],
    ['an unknown placeholder', { content: '{body}{nonce}' }],
    ['a brace that is no placeholder', { content: '{{body}}' }],
    ['{t} where there is no t', { content: '{t}.{body}' }],
    ['a header that is no name', { header: 'x signature' }],
    ['an empty header', { header: '' }],
    ['an unknown syntax', { syntax: 'v2=' }],
    ['an unknown key', { key: 'secret' }],
    ['the wrong hash for the syntax', { syntax: 'sha256=' }],
    ['an unknown field', { algorithm: 'sha256' }],
  ])('refuses %s', (_, change) => {
    expect(schemeSchema.safeParse({ ...custom, ...change }).success).toBe(false);
  });
});

describe('the option signature', () => {
  test('stands for all known schemes, or for one', () => {
    expect(resolveSchemes('auto')).toHaveLength(36);
    expect(resolveSchemes('v1-hex-whole').map(({ scheme }) => scheme)).toEqual([schemeNamed('v1-hex-whole')]);
    expect(resolveSchemes(custom).map(({ scheme }) => scheme)).toEqual([custom]);
  });

  test("offers 'auto' only where it is accepted: signing needs one scheme", () => {
    const one = 'should be the name of a known scheme, or a scheme object, but is an unknown name';
    expect(() => sign('{}', { secrets: secret, scheme: untyped('auto') })).toThrow(
      `The option scheme ${one}`,
    );
    expect(() => resolveSchemes(untyped('any'))).toThrow("should be 'auto', the name of a known scheme");
  });

  test('names what was meant', () => {
    expect(() => resolveSchemes(untyped('v1-hex-hole'))).toThrow(
      'but is "v1-hex-hole". Did you mean v1-hex-whole?',
    );
    expect(() => resolveSchemes(untyped('t-v1-hex'))).toThrow(
      'but is "t-v1-hex". Did you mean t-v1-hex-whole or t-v1-hex-suffix or t-v1-hex-suffix-base64?',
    );
    expect(() => resolveSchemes(untyped('v1'))).toThrow(
      /but is "v1"\. \d+ names begin so; docs\/signature\.md#schemes lists them all\.$/,
    );
    expect(() => resolveSchemes(untyped('c2VjcmV0LW9uZQ'))).toThrow('but is an unknown name. One of');
  });

  test('says what is wrong with a scheme', () => {
    expect(() => resolveSchemes({ ...custom, content: '{t}' })).toThrow(/content: should contain \{body\}/);
    expect(() => resolveSchemes(untyped(undefined))).toThrow(
      expect.objectContaining({ code: 'option_invalid' }),
    );
  });

  test('never repeats a secret that was put in its place', () => {
    expect(() => resolveSchemes(untyped('whsec_bWFkZS11cA'))).not.toThrow(/bWFkZS11cA/);
  });
});
