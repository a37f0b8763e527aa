import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeAfterLingering, hasGone } from '../kit/http-bodies.ts';
import type { TrustProxy } from '../kit/trust-proxy.ts';
import type { BodySource, Delivery, LostBytes, Reply, Take } from '../events/model.ts';

/** What body parsers and serverless hosts leave on a request. */
interface ParsedRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/**
 * The receiver as a request listener of `node:http`.
 *
 * @example createServer(receiver.nodeHandler()).listen(8080)
 */
export function nodeHandler(take: Take): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => answer(take, request, response, undefined);
}

export function answer(
  take: Take,
  request: IncomingMessage,
  response: ServerResponse,
  appTrustProxy: TrustProxy | undefined,
): void {
  void take(deliveryOf(request, response, appTrustProxy)).then((reply) =>
    writeReply(request, response, reply),
  );
}

function deliveryOf(
  request: ParsedRequest,
  response: ServerResponse,
  appTrustProxy: TrustProxy | undefined,
): Delivery {
  return {
    method: request.method ?? '',
    headers: request.headers,
    body: bodyOf(request, response),
    peerAddress: request.socket.remoteAddress,
    encrypted: 'encrypted' in request.socket,
    appTrustProxy,
  };
}

/** If other code has read the body, the raw bytes that it kept are used; without them, the body is lost. */
function bodyOf(request: ParsedRequest, response: ServerResponse): BodySource {
  if (request.rawBody instanceof Uint8Array) return { kind: 'bytes', bytes: request.rawBody };
  if (request.body instanceof Uint8Array) return { kind: 'bytes', bytes: request.body };
  if (hasBrokenOff(request, response)) return { kind: 'stream', stream: request.destroy() };
  const found = foundIn(request, response);
  // A stream with an encoding gives text, from which the signed bytes can't be recovered.
  const isLost = request.readableDidRead || request.readableEnded || request.readableEncoding !== null;
  return isLost ? { kind: 'parsed', found } : { kind: 'stream', stream: request, found };
}

/** Over HTTP/2, an unread body ends when its sender goes away, as if it had been read. */
function hasBrokenOff(request: IncomingMessage, response: ServerResponse): boolean {
  return hasGone(response) && !response.headersSent && !request.readableDidRead;
}

/** Once the app has answered, node:http discards the unread part of the body. */
function foundIn({ rawBody }: ParsedRequest, { headersSent }: ServerResponse): LostBytes | undefined {
  if (headersSent) return 'answer';
  return typeof rawBody === 'string' ? 'text' : undefined;
}

function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Reply,
): void {
  // The sender went away, or the app has answered already.
  if (response.headersSent || hasGone(response)) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Without writeHead, node:http adds the length itself and sends head and body in one piece.
  response.end(body);
  closeAfterLingering(request);
}
