/** Mounts the inbox's API and its page; deliveries come through `express.ts`, `node.ts` and `fetch.ts`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BodyReadBefore, closeAfterLingering, hasGone } from '../kit/http-bodies.ts';
import type { Middleware } from './express.ts';

/** Answers a request at a path below the place where it is mounted. `source` is the request as its server knows it. */
export type WebHandler = (request: Request, path: string, source: unknown) => Promise<Response>;

/** What Express leaves on a request: the part of the path that has been matched is gone from its `url`. */
interface ExpressRequest extends IncomingMessage {
  readonly body?: unknown;
}

/** The three ways to mount the API or the page. */
export interface Mounted {
  /** For Express 4 and 5. It answers every request that reaches it. */
  middleware(): Middleware;
  /** For node:http. `prefix` is the part of the path that it is mounted below. */
  nodeHandler(prefix?: string): Middleware;
  /** For anything that speaks Request and Response. */
  fetch(request: Request, prefix?: string): Promise<Response>;
}

export function mounted(handle: WebHandler): Mounted {
  const listen =
    (prefix: string): Middleware =>
    (request, response) =>
      void write(handle, request, response, prefix).catch(() => response.destroy());
  return {
    middleware: () => listen(''),
    nodeHandler: (prefix = '') => listen(prefix),
    fetch: (request, prefix = '') => answered(handle, request, prefix, request),
  };
}

async function write(
  handle: WebHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
  prefix: string,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    // Over HTTP/2, what was never ended counts as finished, too, when its stream has gone.
    if (!response.writableEnded || !response.writableFinished) gone.abort();
  });
  // While the app in front of us decided, the sender may have gone: that is not told again.
  if (hasGone(response)) gone.abort();
  const request = requestOf(incoming, gone.signal);
  if (!request) return void response.writeHead(400).end();
  const answer = await answered(handle, request, prefix, incoming);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else await send(answer.body, response);
  // What nobody has read of the body would keep the connection from its next request; one without an end is broken off.
  incoming.resume();
  closeAfterLingering(incoming);
}

/**
 * A pipeline into a response that is closed already, because its sender has gone, would leave the body open behind
 * it.
 */
async function send(body: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> {
  const source = Readable.fromWeb(body);
  try {
    await pipeline(source, response);
  } finally {
    source.destroy();
  }
}

/**
 * What is no path, or would become another path as a URL: whoever guards paths in front of us would have seen another
 * one.
 */
const unclear = /^(?!\/)|^\/\/|^[^?]*[\\#\t]|^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;
/** The methods that a Request can't have. */
const unknownMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * HTTP/2 lets any method through, and a Request makes `DELETE` of `delete`: again, another one than was seen in front
 * of us.
 */
const plainMethod = /^[A-Z-]+$/;

/** The request, or undefined if it can't be meant for us. The signal is aborted when its sender has gone. */
function requestOf(incoming: ExpressRequest, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url: target = '/' } = incoming;
  if (unclear.test(target) || !plainMethod.test(method) || unknownMethods.has(method)) return undefined;
  const headers = new Headers();
  for (const [name, item] of headersOf(incoming)) headers.append(name, item);
  // The host is whatever the sender says, and nothing is decided by it.
  const url = new URL(target, 'http://localhost');
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody && ({ body: bodyOf(incoming), duplex: 'half' } as const);
  return new Request(url, { method, headers, signal, ...body });
}

type HeadersOfRequest = Pick<IncomingMessage, 'headers'> & Partial<Pick<IncomingMessage, 'headersDistinct'>>;

/** Each header as often as it came. The requests of HTTP/2 have them in one form only, and pseudo-headers among them. */
function headersOf({ headers, headersDistinct }: HeadersOfRequest): [string, string][] {
  return Object.entries(headersDistinct ?? headers).flatMap(([name, value = []]) =>
    name.startsWith(':') ? [] : [value].flat().map((item): [string, string] => [name, item]),
  );
}

/**
 * A body parser of the app may have read the body before: an object that it has made of it is then written as JSON
 * again.
 */
function bodyOf(incoming: ExpressRequest): NonNullable<RequestInit['body']> {
  const { body } = incoming;
  const isRead = incoming.readableDidRead || incoming.readableEnded;
  if (isRead && (typeof body === 'string' || body instanceof Uint8Array)) return Buffer.from(body);
  if (isRead && body === undefined) return hasDeclaredBody(incoming) ? unreadable() : '';
  if (isRead) return JSON.stringify(body);
  // It is begun with the first read, and left as it is after the last: the answer still goes over its connection.
  return ReadableStream.from<Uint8Array>(incoming.iterator({ destroyOnReturn: false }));
}

/** Over HTTP/2 a body needs no header: its stream tells whether anything came after them. */
function hasDeclaredBody(incoming: IncomingMessage | Http2ServerRequest): boolean {
  if ('stream' in incoming) return !incoming.stream.endAfterHeaders;
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = incoming.headers;
  return length !== '0' || encoding !== undefined;
}

/** It fails when it is read, and not before: whoever may not do what they ask for is told only that. */
function unreadable(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.error(new BodyReadBefore()) });
}

/** What is not below the prefix is not ours: whoever guards that path in front of us has let it pass unseen. */
async function answered(
  handle: WebHandler,
  request: Request,
  prefix: string,
  source: unknown,
): Promise<Response> {
  const path = pathBelow(request, prefix);
  return path === undefined ? new Response(null, { status: 404 }) : handle(request, path, source);
}

/** The path below the prefix, empty for the prefix itself. It is not taken apart: `%2F` within a name is no slash. */
function pathBelow(request: Request, given: string): string | undefined {
  const { pathname } = new URL(request.url);
  // Both ways to write it are meant alike: with the slash, only the document of the page would be found.
  const prefix = given.endsWith('/') ? given.slice(0, -1) : given;
  if (prefix !== '' && pathname === prefix) return '';
  if (prefix !== '' && !pathname.startsWith(`${prefix}/`)) return undefined;
  const below = pathname.slice(prefix.length);
  return below.length > 1 && below.endsWith('/') ? below.slice(0, -1) : below;
}
