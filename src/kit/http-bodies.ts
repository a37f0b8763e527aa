/** Sends, reads and discards the bodies of requests and responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers';

/**
 * A request whose body `fetch` sends only once. It would send bytes again after status 421, and the receiver would see
 * two deliveries. It can't send a stream again; with a Content-Length, nothing else changes.
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

/** Thrown for a body that other code has read and not kept. */
export class BodyReadBefore extends Error {}

/**
 * Reads the bytes of a body. Undefined if there are more than `max`, so that an endless body can't fill the memory: the
 * rest is not read, and the iteration ends.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  max: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads a request to its end. Undefined if it has more than `max` bytes, which are dropped: a sender that is refused
 * before it has sent everything might not read the answer.
 *
 * @throws when the sender goes away
 */
export async function readToEnd(request: IncomingMessage, max: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size <= max) chunks.push(chunk);
    else chunks.length = 0;
  }
  return size <= max ? Buffer.concat(chunks) : undefined;
}

export function answerJson(response: ServerResponse, status: number, value: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  // Without writeHead, node:http adds the length itself.
  response.end(JSON.stringify(value));
}

/** Parses JSON, whose bytes must be UTF-8. Undefined if it is not JSON. */
export function jsonIn(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json),
    );
  } catch {
    return undefined;
  }
}

/** Parses JSON. Returns the text itself if it is not JSON. */
export function jsonOrText(text: string): unknown {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

/** How long a refused sender may go on sending before the socket is closed, in milliseconds. */
const lingering = 2_000;

/**
 * Closes, after a while, a request that was answered before all of it was read. Closing at once would reset the
 * connection before a sender that still sends has read the answer; reading without end would let it hold the socket.
 */
export function closeAfterLingering(request: IncomingMessage): void {
  if (request.complete) return;
  // Destroying an HTTP/2 request leaves its stream open.
  const { stream } = request as Partial<Pick<Http2ServerRequest, 'stream'>>;
  afterLingering(request, () => (stream ? stream.close() : request.destroy()));
  request.resume();
}

/**
 * Cancels the body of a Request in the same way. Cancelled at once, one of `Readable.toWeb` may throw where nobody can
 * catch it, which ends the process, and other servers reset the connection before the sender has its answer. It is read
 * with pauses, because a body that is made in this process could otherwise block the event loop.
 */
export function cancelAfterLingering(body: Readable): void {
  if (body.destroyed) return;
  afterLingering(body, () => body.destroy());
  body.on('data', () => {
    body.pause();
    setImmediate(() => body.resume());
  });
}

/** Calls `end` after a while, unless the stream has closed by then. */
function afterLingering(stream: Readable, end: () => void): void {
  const timer = setTimeout(end, lingering);
  timer.unref();
  stream.once('close', () => clearTimeout(timer));
  stream.on('error', () => {});
}
