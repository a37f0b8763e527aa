import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nanosecondsOf, parseInstant } from '../../src/kit/time.ts';

const endOfTime = BigInt(Date.UTC(2200, 0, 1)) * 1_000_000n;
const instants = fc.bigInt({ min: 0n, max: endOfTime - 1n });

/** From 1971 on, so that no unit is taken for a coarser one; rounding to a number can't go beyond the end. */
const unambiguous = fc.bigInt({ min: BigInt(Date.UTC(1971, 0, 1)) * 1_000_000n, max: endOfTime - 2_000n });

/** Writes an instant as local time at an offset, with the given number of fraction digits. */
function toIso(instant: bigint, digits: number, offset: number, style: (sign: string) => string): string {
  const local = instant + BigInt(offset) * 60_000_000_000n;
  const second = local >= 0n ? local / 1_000_000_000n : (local - 999_999_999n) / 1_000_000_000n;
  const clock = new Date(Number(second) * 1000).toISOString().slice(0, 19);
  const fraction = (local - second * 1_000_000_000n)
    .toString()
    .padStart(9, '0')
    .padEnd(digits, '7')
    .slice(0, digits);
  return `${clock}${digits === 0 ? '' : `.${fraction}`}${style(offset < 0 ? '-' : '+')}`;
}

function nanosecondsIn(value: unknown): bigint | undefined {
  const instant = parseInstant(value);
  return instant && nanosecondsOf(instant);
}

const twoDigits = (value: number) => String(value).padStart(2, '0');

describe('parseInstant', () => {
  it('reads any instant back from ISO 8601, whatever the offset, to the digits that were written', () => {
    const offsets = fc.integer({ min: -14 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(
        instants,
        fc.nat(14),
        offsets,
        fc.constantFrom(':', ''),
        fc.constantFrom('T', 't', ' '),
        (instant, digits, offset, colon, separator) => {
          const hours = twoDigits(Math.trunc(Math.abs(offset) / 60));
          const style = (sign: string) => `${sign}${hours}${colon}${twoDigits(Math.abs(offset) % 60)}`;
          const unit = 10n ** BigInt(9 - Math.min(digits, 9));
          const text = toIso(instant, digits, offset, style).replace('T', separator);
          expect(nanosecondsIn(text)).toBe((instant / unit) * unit);
        },
      ),
    );
  });

  it.each([
    ['seconds', 1_000_000_000n],
    ['milliseconds', 1_000_000n],
    ['microseconds', 1_000n],
  ])('reads any instant back from a number or a string of %s', (_name, unit) => {
    fc.assert(
      fc.property(unambiguous, (instant) => {
        const count = instant / unit;
        expect(nanosecondsIn(Number(count))).toBe(count * unit);
        expect(nanosecondsIn(String(count))).toBe(count * unit);
      }),
    );
  });

  it('reads the nanoseconds of ISO 8601, as the platform writes it', () => {
    fc.assert(
      fc.property(unambiguous, (instant) => {
        const seconds = new Date(Number(instant / 1_000_000_000n) * 1_000).toISOString().slice(0, 19);
        const fraction = String(instant % 1_000_000_000n).padStart(9, '0');
        expect(nanosecondsIn(`${seconds}.${fraction}Z`)).toBe(instant);
      }),
    );
  });

  it('reads nanoseconds exactly from a string, and to the microsecond from a number, which has lost digits', () => {
    fc.assert(
      fc.property(unambiguous, (instant) => {
        expect(nanosecondsIn(String(instant))).toBe(instant);
        const fromNumber = nanosecondsIn(Number(instant)) ?? 0n;
        // From 2^62 on, every 1,024th whole number is a double, and the shortest text of one may name another.
        expect(Math.abs(Number(fromNumber - instant))).toBeLessThanOrEqual(1024);
      }),
    );
  });

  it.each([
    [1767225600.123, 1767225600123000000n],
    ['1767225600.123456789', 1767225600123456789n],
    ['1767225600123.4567', 1767225600123456700n],
    ['2026-01-01T00:00:00Z', 1767225600000000000n],
    ['2026-01-01T00:00:00z', 1767225600000000000n],
    ['2026-01-01T00:00:00', 1767225600000000000n],
    ['2026-01-01T00:00Z', 1767225600000000000n],
    ['2025-12-31T21:00:00-03', 1767225600000000000n],
    ['2026-01-01 02:00:00 +0200', 1767225600000000000n],
    ['2026-01-01T00:00:00.0000000019Z', 1767225600000000001n],
    ['2028-02-29T00:00:00Z', 1835395200000000000n],
    [' 1767225600 ', 1767225600000000000n],
    [0, 0n],
    [7258118399, 7258118399000000000n],
    [7258118400, 7258118400000000n],
  ])('reads %j', (value, expected) => {
    expect(nanosecondsIn(value)).toBe(expected);
  });

  it.each([
    ['month 13', '2026-13-01T00:00:00Z'],
    ['month 0', '2026-00-01T00:00:00Z'],
    ['30 February', '2026-02-30T00:00:00Z'],
    ['29 February of a common year', '2026-02-29T00:00:00Z'],
    ['hour 24', '2026-01-01T24:00:00Z'],
    ['minute 60', '2026-01-01T00:60:00Z'],
    ['offset +25:00', '2026-01-01T00:00:00+25:00'],
    ['a date alone', '2026-01-01'],
    ['before 1970', '1969-12-31T23:59:59Z'],
    ['the year 2200', '2200-01-01T00:00:00Z'],
    ['text behind', '2026-01-01T00:00:00Z!'],
    ['words', 'yesterday'],
    ['nothing', ''],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a negative number', -1],
    ['a negative string', '-1767225600'],
    ['a number beyond nanoseconds', 1e21],
    ['a string of a million digits', '1'.repeat(1_000_000)],
    ['true', true],
    ['null', null],
    ['undefined', undefined],
    ['an object', { seconds: 1 }],
    ['a Date', new Date(0)],
  ])('takes %s for no time', (_name, value) => {
    expect(nanosecondsIn(value)).toBeUndefined();
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(['bigint', 'undefined']).toContain(typeof nanosecondsIn(value));
      }),
    );
  });
});

describe('common forms of times are read by a shortcut', () => {
  const two = (most: number) =>
    fc.integer({ min: 0, max: most }).map((number) => String(number).padStart(2, '0'));
  const year = fc.constantFrom('0075', '1969', '1970', '2024', '2026', '2100', '2199', '2200');
  const date = fc.tuple(year, two(13), two(32)).map((parts) => parts.join('-'));
  const time = fc.tuple(two(24), two(60), two(60)).map((parts) => parts.join(':'));

  it('takes a text for the same instant as in any other form, or refuses both', () => {
    const fraction = fc.constantFrom('', '.000', '.999');
    fc.assert(
      fc.property(date, time, fraction, (day, hour, rest) => {
        const text = `${day}T${hour}${rest}`;
        expect(nanosecondsIn(`${text}Z`)).toBe(nanosecondsIn(`${text}+00:00`));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes a whole number for the same instant as its digits', () => {
    const ends = fc.constantFrom(0, 7_258_118_399, 7_258_118_400, 7_258_118_399_999, 7_258_118_400_000);
    const count = fc.oneof(ends, fc.nat({ max: 10_000_000_000 }), fc.maxSafeNat());
    fc.assert(
      fc.property(count, (number) => {
        expect(nanosecondsIn(number)).toBe(nanosecondsIn(String(number)));
      }),
    );
  });
});
