/** Makes texts, which may come from anybody, safe to print on a terminal. */

/** Characters that could move the cursor, change the terminal or reverse the text. */
export const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Escapes control characters as JSON does, so that JSON keeps its meaning.
 *
 * @example withoutControls('"\u009b31m"') // '"\\u009b31m"'
 */
export function withoutControls(text: string): string {
  return text.replaceAll(controls, (found) => (found === '\n' ? found : escaped(found)));
}

export function escaped(found: string): string {
  const units = Array.from({ length: found.length }, (_, index) => found.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
