import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonLimits, JsonReader, TooComplex } from '../../src/events/json-reader.ts';

const unlimited: JsonLimits = { values: Infinity, fields: Infinity, depth: Infinity };

/** How long the parts are in which texts are read: the shorter, the more often they are cut. */
const lengths = [1, 2, 5, 17, 64 * 1024];

function read(text: string, length?: number, limits: JsonLimits = unlimited): unknown {
  const reader = new JsonReader(text, limits, length);
  while (!reader.readPart());
  return reader.value;
}

/** What `JSON.parse` makes of a text, with the integers that a number can't hold as strings. */
function parse(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source ?? '';
    return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? source
      : value;
  });
}

/** What a function returns, written out with all that `toEqual` overlooks; or that it has thrown a SyntaxError. */
function outcomeOf(work: () => unknown): string {
  try {
    return written(work());
  } catch (error) {
    if (error instanceof SyntaxError) return 'a SyntaxError';
    throw error;
  }
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${written(field)}`);
    return `${Object.getPrototypeOf(value) === Object.prototype ? '' : 'odd'}{${fields.join()}}`;
  }
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
}

const name = fc.constantFrom('"a"', '"b"', '"7"', '"1009"', '"__proto__"', '"toString"', '"\\u0061"', '""');
const blank = fc.constantFrom('', '', ' ', '\n\t');
const scalar = fc.oneof(
  fc.constantFrom(
    '-0',
    'null',
    'true',
    '""',
    '"[{,:"',
    '"\\\\\\""',
    '"\\ud800"',
    '1e400',
    '1.5E-3',
    '"1234567890123456789"',
  ),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => JSON.stringify(text)),
  fc.double().map((number) => JSON.stringify(number)),
);
const spaced = (text: fc.Arbitrary<string>) => fc.tuple(blank, text, blank).map((parts) => parts.join(''));
/** Valid JSON, in the spelling that senders may choose. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    spaced(scalar),
    spaced(fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join()}]`)),
    spaced(
      fc
        .array(fc.tuple(spaced(name), tie('json')), { maxLength: 4 })
        .map((fields) => `{${fields.map((field) => field.join(':')).join()}}`),
    ),
  ),
}));
const token = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\',
  '0',
  '-',
  '.',
  'e',
  '\u00a0',
  'nul',
  '9234567890123456789',
  '"a"',
);
/** JSON with a mistake in most cases: something added, or something left out. */
const broken = fc
  .tuple(json, fc.nat(), fc.nat({ max: 2 }), fc.oneof(token, fc.constant('')))
  .map(([text, at, left, added]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + added + text.slice(index + left);
  });
const soup = fc.array(token, { maxLength: 8 }).map((tokens) => tokens.join(''));

describe('JsonReader reads, in parts of any length, as JSON.parse does', () => {
  test.each([
    ['JSON', json],
    ['JSON with a mistake', broken],
    ['tokens in any order', soup],
  ])('%s', (_what, texts) => {
    fc.assert(
      fc.property(texts, fc.constantFrom(...lengths), (text, length) => {
        expect(outcomeOf(() => read(text, length))).toBe(outcomeOf(() => parse(text)));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    '{9234567890123456789:1}',
    '[01234567890123456789]',
    '[1,2,]',
    '[,1]',
    '[ ,1]',
    '{ ,"a":1}',
    '{"a":1, }',
    '[1[2]]',
    '[[1]2]',
    '{"a":1,"b" [2]}',
    '{"a":[1] "b":2}',
    '[1}',
    ']',
    '1,2',
    '[1],[2]',
    '"a',
    '[1',
    '',
  ])('what is not JSON: %s', (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
    for (const length of lengths) expect(() => read(text, length)).toThrow(SyntaxError);
  });

  test('names of inherited fields, which become own fields', () => {
    const text = `{"a":1,"toString":2,"b":3,"constructor":4,"__proto__":{"polluted":5}}`;
    for (const length of lengths) {
      const value = read(text, length) as Record<string, unknown>;
      expect(Object.entries(value)).toEqual(Object.entries(JSON.parse(text) as object));
      expect(value['polluted']).toBeUndefined();
    }
  });
});

describe('the limits of a text', () => {
  const limits = { values: 6, fields: 2, depth: 3 };

  test.each([
    ['values', '{"a":[1,2,3,"b"]}', '{"a":[1,2,3,"b",null]}'],
    ['fields of one object', '[{"a":1,"b":2},{"a":1}]', '{"a":1,"b":2,"a":3}'],
    ['depth', '[[[1]]]', '[[[[]]]]'],
  ])('%s', (_what, within, beyond) => {
    for (const length of lengths) {
      expect(read(within, length, limits)).toEqual(JSON.parse(within));
      expect(() => read(beyond, length, limits)).toThrow(TooComplex);
    }
  });

  test('end the reading: later text is not examined', () => {
    const reader = new JsonReader(`[${'1,'.repeat(1_000)}`, limits, 16);
    expect(() => reader.readPart()).toThrow(TooComplex);
  });
});
