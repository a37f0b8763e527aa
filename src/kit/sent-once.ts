/**
 * A request with a body that `fetch` sends once. Bytes it would send again after an answer of 421, and the receiver would
 * see two deliveries where there is one. A stream it can't send again; with a Content-Length, nothing else changes.
 */
export function sentOnce(
  body: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
): RequestInit {
  return {
    body: new Blob([body]).stream(),
    headers: { ...headers, 'content-length': String(body.byteLength) },
    duplex: 'half',
  };
}
