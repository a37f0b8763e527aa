import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeAfterLingering } from '../kit/http-bodies.ts';
import type { TrustProxy } from '../kit/trust-proxy.ts';
import type { BodySource, Take } from '../events/model.ts';

/** What body parsers and serverless hosts leave on a request. */
interface ParsedRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** Called with what the app's middleware threw when a reply was written. */
export type OnAnswerFailed = (error: unknown) => void;

/**
 * The receiver as a request listener of `node:http`.
 *
 * @example createServer(receiver.nodeHandler()).listen(8080)
 */
export function nodeHandler(
  take: Take,
  onAnswerFailed: OnAnswerFailed,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => void answer(take, onAnswerFailed, request, response, undefined);
}

/** Takes the delivery that a request brings, and writes the reply. */
export async function answer(
  take: Take,
  onAnswerFailed: OnAnswerFailed,
  request: IncomingMessage,
  response: ServerResponse,
  appTrustProxy: TrustProxy | undefined,
): Promise<void> {
  const { status, headers, body } = await take({
    method: request.method ?? '',
    headers: request.headers,
    body: bodyOf(request, response),
    peerAddress: request.socket.remoteAddress,
    encrypted: 'encrypted' in request.socket,
    appTrustProxy,
  });
  // The sender went away, or the app has answered already.
  if (response.headersSent || hasGone(response)) return;
  try {
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // Without writeHead, node:http adds the length itself and sends head and body in one piece.
    response.end(body);
  } catch (error) {
    // The app's middleware may have replaced these methods. Nobody would handle the rejection, so it would end the
    // process; without an answer, the platform sends the delivery again.
    response.destroy();
    onAnswerFailed(error);
  }
  closeAfterLingering(request);
}

/** If other code has read the body, the raw bytes that it kept are used; without them, the body is lost. */
function bodyOf(request: ParsedRequest, response: ServerResponse): BodySource {
  const { body, rawBody, readableDidRead, readableEnded, readableEncoding } = request;
  if (rawBody instanceof Uint8Array) return { kind: 'bytes', bytes: rawBody };
  if (body instanceof Uint8Array) return { kind: 'bytes', bytes: body };
  const { headersSent } = response;
  // Over HTTP/2, an unread body ends when its sender goes away, as if it had been read.
  if (hasGone(response) && !headersSent && !readableDidRead)
    return { kind: 'stream', stream: request.destroy() };
  // Once the app has answered, node:http discards the unread part of the body.
  const found = headersSent ? 'answer' : typeof rawBody === 'string' ? 'text' : undefined;
  // A stream with an encoding gives text, from which the signed bytes can't be recovered.
  const isLost = readableDidRead || readableEnded || readableEncoding !== null;
  return isLost ? { kind: 'parsed', found } : { kind: 'stream', stream: request, found };
}

/** Whether nobody waits for a response any more. An HTTP/2 response shows this only on its stream. */
export function hasGone(response: ServerResponse): boolean {
  const { destroyed, stream } = response as ServerResponse & {
    readonly stream?: { readonly destroyed: boolean };
  };
  return destroyed || stream?.destroyed === true;
}
