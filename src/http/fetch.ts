import { Readable } from 'node:stream';
import { configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import type { BodySource, Delivery, Take } from '../events/model.ts';

/** What the server knows about a request's connection, which a Request itself doesn't contain. */
export interface FetchConnection {
  /**
   * The address of the socket's peer, never what a header says. Without it, no address in `https.trustProxy` can match:
   * only a number of hops or `true`.
   */
  readonly peerAddress?: string | undefined;
  /** Whether the socket itself is TLS. @default whether the URL begins with `https:` */
  readonly encrypted?: boolean | undefined;
}

/**
 * The receiver for anything that speaks Request and Response.
 *
 * @example const response = await receiver.fetch(request, { peerAddress: socket.remoteAddress })
 */
export function fetchHandler(
  take: Take,
): (request: Request, connection?: FetchConnection) => Promise<Response> {
  return async (request, connection) => {
    if (typeof request?.headers?.get !== 'function') throw noRequest(request);
    const delivery = deliveryOf(request, connection);
    const { status, headers, body } = await take(delivery);
    // The rest of a refused body must not be read on: an endless one would be read forever.
    if (delivery.body.kind === 'stream') delivery.body.stream.destroy();
    return new Response(body, { status, headers });
  };
}

/** A framework's own request is easily taken for a Request, and what it lacks would be a TypeError in our files. */
function noRequest(request: unknown) {
  return configError('option_invalid', {
    option: 'fetch(request)',
    expected: 'a Request',
    found: describe(request),
    fix: 'In Hono, give it context.req.raw; in Express, mount receiver.middleware() instead.',
  });
}

function deliveryOf(request: Request, connection: FetchConnection | undefined): Delivery {
  // Servers that are given the function itself pass other things of their own here.
  const { peerAddress, encrypted } = connection ?? {};
  const url = new URL(request.url);
  return {
    method: request.method,
    headers: { host: url.host, ...Object.fromEntries(request.headers) },
    body: bodyOf(request),
    peerAddress: typeof peerAddress === 'string' ? peerAddress : undefined,
    encrypted: typeof encrypted === 'boolean' ? encrypted : url.protocol === 'https:',
    appTrustProxy: undefined,
  };
}

function bodyOf(request: Request): BodySource {
  // Other code has read the body, or is about to.
  if (request.bodyUsed || request.body?.locked) return { kind: 'parsed' };
  if (!request.body) return { kind: 'bytes', bytes: new Uint8Array() };
  const stream = Readable.fromWeb(request.body);
  // A sender may break off its upload, even one that is refused unread. Without a listener the error would end the
  // process.
  stream.on('error', () => {});
  return { kind: 'stream', stream };
}
