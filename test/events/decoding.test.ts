import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBody } from '../../src/events/decoding.ts';

const decodeText = (text: string) => decodeBody(Buffer.from(text));

describe('decodeBody', () => {
  it('gives the value of any JSON object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        const text = JSON.stringify(fields);
        fc.pre(!/\d{16}/.test(text));
        expect(decodeText(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(typeof decodeBody(bytes).ok).toBe('boolean');
      }),
    );
  });

  it.each([
    ['', 'empty'],
    [' \n', 'empty'],
    ['{"a":', 'not_json'],
    ['{"a":NaN}', 'not_json'],
    ['call_id=1', 'not_json'],
    ['[{"call_id":"1"}]', 'not_an_object'],
    ['"text"', 'not_an_object'],
    ['12345678901234567890', 'not_an_object'],
    ['null', 'not_an_object'],
  ])('says of %j: %s', (text, reason) => {
    expect(decodeText(text)).toEqual({ ok: false, reason });
  });

  it('refuses bytes that are not UTF-8 instead of replacing them', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expect(decodeBody(bytes)).toEqual({ ok: false, reason: 'not_utf8' });
    expect(decodeBody(Buffer.from('\ufeff{"a":1}', 'utf16le'))).toEqual({ ok: false, reason: 'not_utf8' });
  });

  it('lets a byte order mark pass', () => {
    expect(decodeText('\ufeff{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
  });

  it('keeps every digit of integers that a number would round, and leaves all other numbers alone', () => {
    const text =
      '{"big":1234567890123456789,"negative":[-9007199254740993],"safe":9007199254740991,' +
      '"micros":1772442942123456,"decimal":0.1234567890123456,"exponent":1e30,"text":"1234567890123456789, ok"}';
    expect(decodeText(text)).toEqual({
      ok: true,
      value: {
        big: '1234567890123456789',
        negative: ['-9007199254740993'],
        safe: 9007199254740991,
        micros: 1772442942123456,
        decimal: 0.1234567890123456,
        exponent: 1e30,
        text: '1234567890123456789, ok',
      },
    });
  });

  it('keeps every digit of any integer, at any position', () => {
    const wrappers = fc.constantFrom<(digits: string) => string>(
      (digits) => `{"id":${digits}}`,
      (digits) => `{"x":0, "id": ${digits} }`,
      (digits) => `{\n"id":\t${digits}\n}`,
    );
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), wrappers, (id, wrap) => {
        const decoded = decodeText(wrap(String(id)));
        expect(decoded.ok && String(decoded.value['id'])).toBe(String(id));
      }),
    );
  });

  it.each(['1', '1234567890123456789'])(
    'reads an object nested two hundred thousand deep, with %s in it',
    (id) => {
      const depth = 200_000;
      const decoded = decodeText(`{"id":${id},"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`);
      expect(decoded.ok && String(decoded.value['id'])).toBe(id);
    },
  );

  it('takes __proto__ for a field, not for a prototype', () => {
    for (const id of ['1', '1234567890123456789']) {
      const decoded = decodeText(`{"__proto__":{"polluted":true},"id":${id}}`);
      if (!decoded.ok) throw new Error('should have been decoded');
      expect(Object.getPrototypeOf(decoded.value)).toBe(Object.prototype);
      expect(decoded.value['polluted']).toBeUndefined();
    }
  });
});
