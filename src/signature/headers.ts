import { configError } from '../errors/errors.ts';
import type { Headers } from '../events/model.ts';

/** Headers as frameworks give them: an object with names in any case, or a `Headers` object as in `fetch`. */
export type AnyHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

/**
 * The headers by lower-case name. Names that differ only in case are one header, and all its lines are kept.
 *
 * @throws ConfigError `option_invalid` when they are not an object
 */
export function lowerCase(headers: AnyHeaders): Headers {
  requireObject(headers);
  const lower = new Map<string, string[]>();
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const lines = lower.get(name.toLowerCase()) ?? [];
    lower.set(name.toLowerCase(), lines.concat(value));
  }
  return Object.fromEntries(lower);
}

/** Headers that are not an object are the caller's mistake, not the sender's, so this throws. */
function requireObject(headers: unknown): void {
  if (typeof headers === 'object' && headers !== null) return;
  throw configError('option_invalid', {
    option: 'headers',
    expected: 'the headers of the request, an object or Headers',
    found: headers === undefined || headers === null ? String(headers) : `of type ${typeof headers}`,
  });
}

/** One header's text; several lines are joined as node:http joins them. */
export function headerText(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : undefined;
}
