/** Finds what names a person in stored bytes, which are JSON where they can be read at all. */

/** Whether a text, or bytes, name what is looked for. */
export type Mentions = (content: string | Uint8Array) => boolean;

/** Shorter numbers would be found inside dates and amounts, and what is found is erased. */
const fewestDigits = 7;

/** What may stand between the digits of a number that is written for people. */
const separators = '[\\s().\\-/\\u2010-\\u2015]{0,3}';
/** `2026-01-15 10` has the digits of a number, and separators that one may have. */
const dates = /\b\d{4}-\d\d-\d\d(?:[T ]\d\d)?/g;

/**
 * What finds a phone number, however its digits are separated, with or without `+` or `00`; undefined for one of
 * fewer than seven digits. Never as a part of a longer number: a nanosecond has nineteen digits.
 *
 * @example mentionsOfPhoneNumber('+1 555 0100')?.('{"from":"+1-555-0100"}') // true
 */
export function mentionsOfPhoneNumber(phoneNumber: string): Mentions | undefined {
  const given = phoneNumber.trim();
  const digits = given.replaceAll(/\D/g, '').replace(/^00/, '');
  if (digits.length < fewestDigits) return undefined;
  const written = new RegExp(`(?<!\\d)(?:00)?${digits.split('').join(separators)}(?!\\d)`);
  const literal = new RegExp(`(?<!\\d)${escaped(given)}(?!\\d)`);
  return (content) => {
    const text = readable(content);
    return literal.test(text) || written.test(text.replaceAll(dates, ' '));
  };
}

/** What finds any of some ids, but not inside a longer one. */
export function mentionsOfIds(ids: readonly string[]): Mentions {
  if (ids.length === 0) return () => false;
  const whole = new RegExp(`(?<![\\w-])(?:${ids.map(escaped).join('|')})(?![\\w-])`);
  return (content) => whole.test(readable(content));
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** As a person would read it: JSON may write any character as its number. */
function readable(content: string | Uint8Array): string {
  const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8');
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\(?:u([\da-fA-F]{4})|(["\\/])|[bfnrt])/g, (_all, code?: string, plain?: string) =>
    code === undefined ? (plain ?? ' ') : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
