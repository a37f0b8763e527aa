/** An instant: whole milliseconds since 1970, and the nanoseconds (0 to 999,999) beyond them. */
export interface Instant {
  readonly milliseconds: number;
  readonly nanoseconds: number;
}

/** A time in milliseconds since 1970, if there is one. */
export function dateOf(milliseconds: number | undefined): Date | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds);
}

/** Times from the year 2200 on are not read: they are mistakes. */
const endInMilliseconds = Date.UTC(2200, 0, 1);
const endOfTime = BigInt(endInMilliseconds) * 1_000_000n;

/**
 * The platform's own form, with nanoseconds, and the usual one, with milliseconds or whole seconds: the digits are
 * always in the same places, and the year is from 1970 to 2199. `Date.parse` takes 31 April for 1 May, so every 31st
 * and 29 February are left to `parseIso`. Parsing all the times of a delivery by that would take a twentieth of the
 * delivery's time.
 */
const plainForm =
  /^(?:19[7-9]|2[01]\d)\d-(?:(?:0[13-9]|1[0-2])-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3}(?:\d{6})?)?Z$/;

/** Where the milliseconds of the plain form end, and its length with nanoseconds. */
const beyondMilliseconds = '2026-01-01T00:00:00.123'.length;
const plainLength = '2026-01-01T00:00:00.123456789Z'.length;

/** Decimal places of a second that are left below each unit: s, ms, µs, ns. */
const placesBelowUnit = [9, 6, 3, 0] as const;

const isoForm =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?: ?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?))?$/;

/** A count that a number holds exactly. */
const shortCount = /^\d{1,13}$/;

/** Nineteen digits hold every nanosecond until 2200; more would only cost time to multiply. */
const decimalForm = /^(\d{1,19})(?:\.(\d+))?$/;

/**
 * The instant of a timestamp, as two numbers: each delivery has several times, and a bigint of nanoseconds costs more
 * than everything else about a time. Undefined if it isn't a time between 1970 and 2200.
 *
 * - ISO 8601 with date and time of day: `T`, `t` or a space between them, any number of fraction digits (those
 *   beyond nine are cut off), any offset (`Z`, `+02:00`, `+0200`, `-03`; none means UTC).
 * - Numbers and strings of digits, with or without decimals, as seconds, milliseconds, microseconds or
 *   nanoseconds since 1970: the coarsest of these that is before 2200. So a number below 7,258,118,400
 *   (7.26e9) is seconds, below 7.26e12 milliseconds, below 7.26e15 microseconds, below 7.26e18 nanoseconds.
 *   (Milliseconds and finer from before 26 March 1970 are thus misread; no call is that old.)
 *
 * Strings are read exactly. Numbers above 2^53, as in nanoseconds, have lost their last digits already when
 * JSON was parsed; such a time is right to a microsecond.
 *
 * @example parseInstant('2026-01-01T00:00:00.123456789+01:00') // { milliseconds: 1767222000123, nanoseconds: 456789 }
 * @example parseInstant(1767225600), parseInstant('1767225600000') // both { milliseconds: 1767225600000, nanoseconds: 0 }
 */
export function parseInstant(value: unknown): Instant | undefined {
  if (typeof value === 'number') return parseCount(value) ?? parseDecimal(String(value));
  if (typeof value !== 'string') return undefined;
  if (plainForm.test(value)) {
    const beyond = value.length === plainLength ? Number(value.slice(beyondMilliseconds, -1)) : 0;
    return { milliseconds: Date.parse(value), nanoseconds: beyond };
  }
  const text = value.trim();
  const count = shortCount.test(text) ? parseCount(Number(text)) : undefined;
  return count ?? parseDecimal(text) ?? parseIso(text);
}

/** Reads the time at which something happened. Zero, in any form, means no time. */
export function parseKnownTime(value: unknown): Instant | undefined {
  const instant = parseInstant(value);
  return instant && instant.milliseconds > 0 ? instant : undefined;
}

/** Nanoseconds since 1970. */
export function nanosecondsOf({ milliseconds, nanoseconds }: Instant): bigint {
  return BigInt(milliseconds) * 1_000_000n + BigInt(nanoseconds);
}

/** Reads whole seconds or milliseconds, as most numbers are. */
function parseCount(count: number): Instant | undefined {
  if (!Number.isInteger(count) || count < 0 || count >= endInMilliseconds) return undefined;
  const milliseconds = count < endInMilliseconds / 1_000 ? count * 1_000 : count;
  return { milliseconds, nanoseconds: 0 };
}

/** Reads a count since 1970. A number's text is its shortest form, so decimals are kept as sent. */
function parseDecimal(text: string): Instant | undefined {
  const [, whole, fraction = ''] = decimalForm.exec(text) ?? [];
  if (whole === undefined) return undefined;
  for (const places of placesBelowUnit) {
    const instant = BigInt(whole + fractionDigits(fraction, places));
    if (instant < endOfTime) {
      return { milliseconds: Number(instant / 1_000_000n), nanoseconds: Number(instant % 1_000_000n) };
    }
  }
  return undefined;
}

function parseIso(text: string): Instant | undefined {
  const parts = isoForm.exec(text);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(toNumber);
  const [, , , , , , , fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = parts;
  if (!isDate(year, month, day) || !isTimeOfDay(hour, minute, second)) return undefined;
  if (!isTimeOfDay(Number(offsetHour), Number(offsetMinute), 0)) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  const milliseconds = Date.UTC(year, month - 1, day, hour, minute - offset, second);
  const beyond = Number(fractionDigits(fraction, 9));
  const whole = milliseconds + Math.trunc(beyond / 1_000_000);
  return whole >= 0 && whole < endInMilliseconds
    ? { milliseconds: whole, nanoseconds: beyond % 1_000_000 }
    : undefined;
}

/** Exactly `places` digits: longer fractions are cut, shorter ones filled with zeros. */
function fractionDigits(fraction: string, places: number): string {
  return fraction.slice(0, places).padEnd(places, '0');
}

/** Whether a date exists: Date.UTC silently turns 30 February into 2 March. */
function isDate(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isTimeOfDay(hour: number, minute: number, second: number): boolean {
  return hour < 24 && minute < 60 && second < 60;
}

/** The seconds may be left out. */
function toNumber(part: string | undefined): number {
  return Number(part ?? 0);
}
