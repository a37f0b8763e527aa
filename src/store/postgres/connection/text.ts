/**
 * Escapes text for Postgres, which refuses the character U+0000 and lone surrogates. A delivery that has one of them in
 * a name or an id is authentic all the same, and must not be refused for ever.
 */

/** Begins an escape, and is itself escaped: a private-use character, which hardly anybody sends. */
const escape = '\u{e000}';
const loneSurrogate = '[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]';
const special = new RegExp(`[\\u0000${escape}]|${loneSurrogate}`, 'g');
const escaped = new RegExp(`${escape}([0-9a-f]{4})`, 'g');

/** The text as it is stored. */
export function toText(text: string): string {
  return text.replace(
    special,
    (character) => `${escape}${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The text as it was. */
export function fromText(stored: string): string {
  return stored.includes(escape)
    ? stored.replace(escaped, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : stored;
}

// The same for a text that may be missing.
export const toTextOrNull = (text: string | null | undefined): string | null =>
  typeof text === 'string' ? toText(text) : null;
export const fromTextOrUndefined = (stored: string | null): string | undefined =>
  stored === null ? undefined : fromText(stored);
