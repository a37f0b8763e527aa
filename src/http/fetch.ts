import { Readable } from 'node:stream';
import type { BodySource, Delivery, Take } from '../events/model.ts';

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
    // The rest of a refused body must not be read on: an endless one would be read forever.
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
  // Other code has read the body, or is about to.
  if (request.bodyUsed || request.body?.locked) return { kind: 'parsed' };
  if (!request.body) return { kind: 'bytes', bytes: new Uint8Array() };
  const stream = Readable.fromWeb(request.body);
  // A sender may break off its upload, even one that is refused unread. Without a listener the error would end the
  // process.
  stream.on('error', () => {});
  return { kind: 'stream', stream };
}
