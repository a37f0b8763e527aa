/** The keys under which a copy of an event counts as the same event: each says where it was found. */

export function bodyIdentity(traceId: string): string {
  return `body:${traceId}`;
}

/** A trace id from the header is not signed. */
export function headerIdentity(traceId: string): string {
  return `header:${traceId}`;
}

/** Of the body, in hexadecimal. It is the trace id of an event that has no other. */
export function digestIdentity(digest: string): string {
  return `sha256:${digest}`;
}
