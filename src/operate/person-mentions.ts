/** Finds phone numbers in stored bytes, which are JSON if they can be read at all. */

/** Whether a text, or bytes, contain what is looked for. */
export type Mentions = (content: string | Uint8Array) => boolean;

/** The fewest digits of a phone number: a shorter one would be found in dates and amounts, which would be erased. */
const fewestDigits = 7;

/** The most digits of a phone number with its country code: what has more is not one number. */
const maxDigits = 15;

/** The most characters that are taken for one: a regular expression of 60 kB can't be made, and its error would log them. */
const maxGiven = 100;

/** What may stand between the digits of a number that is written for people. */
const separators = '[\\s().\\-/\\u2010-\\u2015]{0,3}';
/**
 * Dates and times, in which no number is looked for: `2026-01-15 10` has enough digits, and the separators of a number.
 * `0466-12-3456` is none: many countries write their numbers so.
 */
const date = String.raw`\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!-?\d)`;
const time = String.raw`[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:?\d\d(?!\d))?`;
const dates = new RegExp(`${date}(?:${time})?`, 'g');

/**
 * Returns a function that finds a phone number, however its digits are separated, with or without `+` or `00`;
 * undefined for a number of fewer than seven digits, or a text that is too long. It is never found as a part of a longer
 * number: not in the nineteen digits of a time in nanoseconds, nor behind the country code of another country.
 *
 * @example mentionsOfPhoneNumber('+1 555 0100')?.('{"from":"+1-555-0100"}') // true
 */
export function mentionsOfPhoneNumber(phoneNumber: string): Mentions | undefined {
  const given = phoneNumber.trim();
  if (given.length > maxGiven) return undefined;
  const digits = given.replaceAll(/\D/g, '').replace(/^00/, '');
  if (digits.length < fewestDigits) return undefined;
  const before = beginOfNumber(maxDigits - digits.length);
  const written = new RegExp(`${before}(?:00)?${digits.split('').join(separators)}(?!\\d)`);
  const literal = new RegExp(`${before}${escaped(given)}(?!\\d)`);
  return (content) => {
    const text = readable(content);
    return literal.test(text) || written.test(text.replaceAll(dates, ' '));
  };
}

/**
 * Matches where a number may begin: not after a digit, nor after a country code and up to so many digits in all. No
 * country code begins with 0, as the hours of an offset from UTC do.
 */
function beginOfNumber(digits: number): string {
  const code = `(?:\\+|(?<![\\d.,])00)[1-9]${separators}(?:\\d${separators}){0,${digits - 1}}`;
  return digits > 0 ? `(?<!\\d)(?<!${code})` : '(?<!\\d)';
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** The text without the escapes of JSON, in which any character may be written as its number. */
export function readable(content: string | Uint8Array): string {
  const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8');
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\(?:u([\da-fA-F]{4})|(["\\/])|[bfnrt])/g, (_all, code?: string, plain?: string) =>
    code === undefined ? (plain ?? ' ') : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
