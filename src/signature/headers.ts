import type { Headers } from '../events/model.ts';

/** Headers as frameworks give them: an object with names in any case, or a `Headers` object as in `fetch`. */
export type AnyHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

/** The headers by lower-case name. Names that differ in case only are one header; all of its lines count. */
export function lowerCase(headers: AnyHeaders): Headers {
  const lower = new Map<string, string[]>();
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const lines = lower.get(name.toLowerCase()) ?? [];
    lower.set(name.toLowerCase(), lines.concat(value));
  }
  return Object.fromEntries(lower);
}

/** One header's text; several lines are joined as node:http joins them. */
export function headerText(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : undefined;
}
