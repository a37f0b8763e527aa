/** The keys under which a copy of an event counts as the same event. Each says where the key was found. */

export function bodyIdentity(traceId: string): string {
  return `body:${traceId}`;
}

/** A trace id from the header is not signed. */
export function headerIdentity(traceId: string): string {
  return `header:${traceId}`;
}

/** `digest` is the body's, in hexadecimal. This key is also the trace id of an event that has no other. */
export function digestIdentity(digest: string): string {
  return `sha256:${digest}`;
}
