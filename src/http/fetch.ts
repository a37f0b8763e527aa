import { Readable } from 'node:stream';
import type { BodySource, Delivery, Take } from '../model.ts';

/**
 * The receiver for anything that speaks Request and Response. The protocol of the request's URL counts as the
 * connection's; there is no peer, so only `trustProxy: true` or a number of hops can trust one.
 *
 * @example const response = await receiver.fetch(request)
 */
export function fetchHandler(take: Take): (request: Request) => Promise<Response> {
  return async (request) => {
    const delivery = deliveryOf(request);
    const { status, headers, body } = await take(delivery);
    // What is left of a refused body is nobody's to read: one without end would be read for ever.
    if (delivery.body.kind === 'stream') delivery.body.stream.destroy();
    return new Response(body, { status, headers });
  };
}

function deliveryOf(request: Request): Delivery {
  const url = new URL(request.url);
  return {
    method: request.method,
    headers: { host: url.host, ...Object.fromEntries(request.headers) },
    body: bodyOf(request),
    peerAddress: undefined,
    encrypted: url.protocol === 'https:',
    appTrustProxy: undefined,
  };
}

function bodyOf(request: Request): BodySource {
  // Read, or somebody's to read.
  if (request.bodyUsed || request.body?.locked) return { kind: 'parsed' };
  if (!request.body) return { kind: 'bytes', bytes: new Uint8Array() };
  const stream = Readable.fromWeb(request.body);
  // Anybody can break an upload off, also one that is refused unread: an error that nobody hears would end the process.
  stream.on('error', () => {});
  return { kind: 'stream', stream };
}
