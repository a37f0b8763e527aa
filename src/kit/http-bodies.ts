/** Bodies of requests and answers: sent, read, and left unread. */
import type { IncomingMessage, ServerResponse } from 'node:http';

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

/** A body can't be read: something in front has read it, and has kept nothing of it. */
export class BodyReadBefore extends Error {}

/**
 * Reads the bytes of an answer; undefined if there are more than `max`: an endless answer must not fill the memory. An
 * answer that is not read to its end is broken off.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  max: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop ends the connection.
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads the bytes of a request to its end; undefined if there are more than `max`, of which none are kept: a sender that is
 * refused before it has sent all might not read the answer.
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
  // The head is not written separately: node:http then adds the length itself.
  response.end(JSON.stringify(value));
}

/** The value of JSON, whose bytes must be UTF-8; undefined if it is none. */
export function jsonIn(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json),
    );
  } catch {
    return undefined;
  }
}

/** The value of JSON, or the text itself if it is none. */
export function jsonOrText(text: string): unknown {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

/** Whether nobody waits for a response any more. A response of HTTP/2 says it of its stream alone. */
export function hasGone(response: ServerResponse): boolean {
  const { destroyed, stream } = response as ServerResponse & {
    readonly stream?: { readonly destroyed: boolean };
  };
  return destroyed || stream?.destroyed === true;
}

/** How long a refused sender may go on sending before the socket is closed, in milliseconds. */
const lingering = 2_000;

/**
 * Closes a request that was answered before all of it was read, after a while. Its sender may still be sending: closing
 * at once would reset the connection before the sender has read the answer, and reading on without end would let it
 * hold the socket.
 */
export function closeAfterLingering(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), lingering);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
  request.on('error', () => {});
  request.resume();
}
