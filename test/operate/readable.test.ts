import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readable } from '../../src/operate/erasure/readable.ts';
import { anyCharacter } from '../support/any-text.ts';

const hex = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, '0');

test('what is looked through for an erasure is the text that JSON gives, with blanks for line breaks', () => {
  const character = fc.tuple(anyCharacter, fc.nat(2));
  const check = (characters: readonly (readonly [string, number])[]) => {
    const written = characters.map(([text, way]) => {
      const codes = text.split('').map(hex).join('\\u');
      return [
        JSON.stringify(text).slice(1, -1),
        `\\u${codes}`,
        `\\u${codes.toUpperCase().replaceAll('U', 'u')}`,
      ][way];
    });
    const shown = characters.map(([text], index) => (/^\\[bfnrt]$/.test(written[index] ?? '') ? ' ' : text));
    expect(readable(written.join(''))).toBe(shown.join(''));
    expect(readable(Buffer.from(written.join('')))).toBe(shown.join(''));
  };
  fc.assert(fc.property(fc.array(character, { maxLength: 30 }), check), { numRuns: 300 });
});

test.each(['\\', 'a\\', '\\u12', '\\u12g4', '\\x41', '\\uD8', 'ü \\u', '+49 30'])(
  '%j, which has no escape, stays as it is',
  (text) => {
    expect(readable(text)).toBe(text);
  },
);
