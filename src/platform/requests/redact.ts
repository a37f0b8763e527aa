export type Redact = (text: string) => string;

/** Shorter values (such as a header `1`) are no credentials, and hiding them would garble every sentence. */
const minCredentialLength = 6;
/** Deeper levels of an error body explain nothing, and could exhaust the stack. */
const maxDepth = 8;

/** Hides these texts and everything that looks like a signing secret: an error may quote what was sent. */
export function redacting(confidential: readonly string[]): Redact {
  const hidden = confidential
    .flatMap((text) => [text, withoutScheme(text)])
    .filter((text) => text.length >= minCredentialLength)
    // The longest first: hiding a text that another one begins with would reveal the rest of the longer one.
    .sort((left, right) => right.length - left.length);
  return (text) =>
    hidden
      .reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
      .replaceAll(/whsec_[^\s"',]+/g, '[hidden]');
}

/** The credential without its scheme, such as `Bearer`: an error may quote it alone. */
function withoutScheme(text: string): string {
  return text.slice(text.indexOf(' ') + 1).trim();
}

/** Redacts every text in a value, including the names of fields. */
export function redacted(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === maxDepth) return '[…]';
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redacted(inner, redact, depth + 1)]),
  );
}

/** Makes a text one line of a bounded length, so that it can't forge lines in a log. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Control}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 300)}…`;
}
