/** Finds phone numbers in stored bytes, which are JSON unless they are unreadable. */
import { readable } from './readable.ts';

/** Whether a text or bytes contain what is searched for. */
export type Mentions = (content: string | Uint8Array) => boolean;

/** The fewest digits of a phone number: a shorter one would match dates and amounts, which would be erased. */
const fewestDigits = 7;

/** The most digits of a phone number with its country code. */
const maxDigits = 15;

/** The longest accepted input: a regular expression of 60 kB fails to compile, and its error would log the number. */
const maxGiven = 100;

/** What may separate the digits of a formatted number. */
const separators = '[\\s().\\-/\\u2010-\\u2015]{0,3}';
/**
 * Dates and times, which are skipped: `2026-01-15 10` has the digits and separators of a phone number. `0466-12-3456`
 * is not a date: many countries write numbers like this.
 */
const date = String.raw`\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!-?\d)`;
const time = String.raw`[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:?\d\d(?!\d))?`;
const dates = new RegExp(`${date}(?:${time})?`, 'g');

/**
 * Returns a function that finds a phone number, however its digits are separated, with or without `+` or `00`. It
 * doesn't match part of a longer number: the nineteen digits of a time in nanoseconds, or a number with another country
 * code. Returns undefined for a number of fewer than seven digits, or a text that is too long.
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
 * Matches where a number may begin: not after a digit, nor after a country code with up to this many digits in all. A
 * country code doesn't begin with 0, unlike the hours of a UTC offset.
 */
function beginOfNumber(digits: number): string {
  const code = `(?:\\+|(?<![\\d.,])00)[1-9]${separators}(?:\\d${separators}){0,${digits - 1}}`;
  return digits > 0 ? `(?<!\\d)(?<!${code})` : '(?<!\\d)';
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
