import { describe, expect, test } from 'vitest';
import {
  describeLayout,
  knownLayouts,
  layoutNamed,
  layoutSchema,
  resolveLayouts,
} from '../../src/signature/layouts.ts';
import { sign } from '../../src/signature/sign.ts';
import { secret } from '../support/deliveries.ts';
import { untyped } from './helpers.ts';

const custom = {
  header: 'x-signature',
  syntax: 'bare',
  content: '{timestamp}:{body}',
  encoding: 'base64',
  hash: 'sha512',
  key: 'suffix',
} as const;

describe('known layouts', () => {
  test('are all different, and each is valid', () => {
    const layouts = [...knownLayouts.values()];
    expect(new Set(layouts.map((layout) => JSON.stringify(layout))).size).toBe(36);
    for (const layout of layouts) expect(layoutSchema.parse(layout)).toEqual(layout);
  });

  test('are found by the name that describes them', () => {
    for (const [name, layout] of knownLayouts) {
      expect(describeLayout({ ...layout })).toBe(name);
      expect(layoutNamed(name)).toBe(layout);
    }
    expect(layoutNamed('constructor')).toBeUndefined();
  });

  test('use SHA-256: SHA-512 is for a layout that says so', () => {
    expect([...knownLayouts.values()].filter((layout) => layout.hash !== 'sha256')).toEqual([]);
  });
});

test('a layout of one’s own is described as JSON that is a layout again', () => {
  expect(layoutSchema.parse(JSON.parse(describeLayout(custom)))).toEqual(custom);
});

describe('the layout schema', () => {
  test('puts the header in lower case, and has defaults for it and for the hash', () => {
    expect(layoutSchema.parse({ ...custom, header: 'X-Signature' }).header).toBe('x-signature');
    const { header: _, hash: __, ...rest } = custom;
    expect(layoutSchema.parse(rest)).toMatchObject({ header: 'x-webhook-signature', hash: 'sha256' });
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
    expect(layoutSchema.safeParse({ ...custom, ...change }).success).toBe(false);
  });
});

describe('the option signature', () => {
  test('stands for all known layouts, or for one', () => {
    expect(resolveLayouts('auto')).toHaveLength(36);
    expect(resolveLayouts('v1-hex-whole').map(({ layout }) => layout)).toEqual([layoutNamed('v1-hex-whole')]);
    expect(resolveLayouts(custom).map(({ layout }) => layout)).toEqual([custom]);
  });

  test("offers 'auto' only where it is taken: whoever signs needs one layout", () => {
    const one = 'should be the name of a known layout, or a layout object, but is an unknown name';
    expect(() => sign('{}', { secrets: secret, layout: untyped('auto') })).toThrow(
      `The option layout ${one}`,
    );
    expect(() => resolveLayouts(untyped('any'))).toThrow("should be 'auto', the name of a known layout");
  });

  test('names what was meant', () => {
    expect(() => resolveLayouts(untyped('v1-hex-hole'))).toThrow(
      'but is "v1-hex-hole". Did you mean v1-hex-whole?',
    );
    expect(() => resolveLayouts(untyped('t-v1-hex'))).toThrow(
      'but is "t-v1-hex". Did you mean t-v1-hex-whole or t-v1-hex-suffix or t-v1-hex-suffix-base64?',
    );
    expect(() => resolveLayouts(untyped('c2VjcmV0LW9uZQ'))).toThrow('but is an unknown name. One of');
  });

  test('tells what is wrong with a layout', () => {
    expect(() => resolveLayouts({ ...custom, content: '{t}' })).toThrow(/content: should contain \{body\}/);
    expect(() => resolveLayouts(untyped(undefined))).toThrow(
      expect.objectContaining({ code: 'option_invalid' }),
    );
  });

  test('never repeats a secret that was put in its place', () => {
    expect(() => resolveLayouts(untyped('whsec_bWFkZS11cA'))).not.toThrow(/bWFkZS11cA/);
  });
});
