/** Takes what is confidential out of a text. */
export type Redact = (text: string) => string;

/** Shorter values (a header `1`, say) are no credentials, and taking them out would garble every sentence. */
const shortestCredential = 6;
/** What is deeper in an error body tells nobody anything, and walking it could exhaust the stack. */
const deepest = 8;

/** What takes these texts out, and everything that looks like a signing secret: an error may quote what was sent. */
export function redacting(confidential: readonly string[]): Redact {
  const hidden = confidential
    .flatMap((text) => [text, withoutScheme(text)])
    .filter((text) => text.length >= shortestCredential)
    // Of one that begins with another, the rest would be left.
    .sort((left, right) => right.length - left.length);
  return (text) =>
    hidden
      .reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
      .replaceAll(/whsec_[^\s"',]+/g, '[hidden]');
}

/** `Bearer`, `Basic` and the like go before a credential, and whoever quotes that may leave them out. */
function withoutScheme(text: string): string {
  return text.slice(text.indexOf(' ') + 1).trim();
}

/** The same value without what is confidential, names of fields included. */
export function redacted(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepest) return '[…]';
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redacted(inner, redact, depth + 1)]),
  );
}

/** One line of a bounded length: a sentence that goes to a log must not be able to forge lines in it. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Control}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 300)}…`;
}
