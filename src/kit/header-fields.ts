/** What a header's name and value may be, and which ones tell nothing of who sends them. */

/** What can be the name of a header (RFC 9110, 5.1). */
export const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** What arrives as it was written: no control characters, no blanks at the ends. */
export const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** What any client sends: by these alone, whoever sends JSON would pass for the platform. */
const ordinary: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'user-agent',
]);

/** Whether at least one of the names is of a header that others don't send by themselves. */
export function hasOwnHeader(names: Iterable<string>): boolean {
  return [...names].some((name) => !ordinary.has(name.toLowerCase()));
}
