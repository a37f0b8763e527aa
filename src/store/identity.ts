/** The keys under which a copy of an event counts as the same event. Each says where the key was found. */

export function bodyIdentity(traceId: string): string {
  return `body:${traceId}`;
}

/** A trace id from a header that the signature covers. */
export function signedHeaderIdentity(traceId: string): string {
  return `signed:${traceId}`;
}

/** A trace id from a header that anybody can change: by this key an event is found, and never taken for a duplicate. */
export function headerIdentity(traceId: string): string {
  return `header:${traceId}`;
}

/** `digest` is the body's, in hexadecimal. This key is also the trace id of an event that has no other. */
export function digestIdentity(digest: string): string {
  return `sha256:${digest}`;
}
