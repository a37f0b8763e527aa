import { Readable } from 'node:stream';
import { configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import type { BodySource, Delivery, Take } from '../events/model.ts';
import { cancelAfterLingering } from '../kit/http-bodies.ts';

/** What the server knows about a request's connection, which a Request itself doesn't contain. */
export interface FetchConnection {
  /**
   * The address of the socket's peer; never take it from a header. Without it, no address in `https.trustProxy` can
   * match, only a number of hops or `true`.
   */
  readonly peerAddress?: string | undefined;
  /** Whether the socket itself is TLS. @default whether the URL begins with `https:` */
  readonly encrypted?: boolean | undefined;
}

/**
 * The receiver for servers that use the web's Request and Response.
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
    if (delivery.body.kind === 'stream') cancelAfterLingering(delivery.body.stream);
    return new Response(body, { status, headers });
  };
}

/** For a framework's own request object, passed by mistake: it would cause a TypeError inside the library. */
function noRequest(request: unknown) {
  return configError('option_invalid', {
    option: 'fetch(request)',
    expected: 'a Request',
    found: describe(request),
    fix: 'In Hono, give it context.req.raw; in Express, mount receiver.middleware() instead.',
  });
}

function deliveryOf(request: Request, connection: FetchConnection | undefined): Delivery {
  // A server that was given the function itself may pass something else here.
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
  // The sender may abort its upload, even of a body that is refused unread. Without a listener the error would end
  // the process.
  stream.on('error', () => {});
  return { kind: 'stream', stream };
}
