/** Mounts the inbox's API and its page; deliveries come through `express.ts`, `node.ts` and `fetch.ts`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BodyReadBefore, closeAfterLingering } from '../kit/http-bodies.ts';
import { classAndLocationOf } from '../kit/error-location.ts';
import { ApiProblem, refusal } from '../operate/api/problem.ts';
import type { Middleware } from './express.ts';
import { hasGone } from './node.ts';

/** Answers a request. `path` is relative to the mount point; `source` is the server's own request object. */
export type WebHandler = (request: Request, path: string, source: unknown) => Promise<Response>;

/** Express takes the matched part of the path out of `url`; body parsers leave what they read in `body`. */
interface ExpressRequest extends IncomingMessage {
  readonly body?: unknown;
}

/** The three ways to mount the API or the page. */
export interface Mounted {
  /** For Express 4 and 5. It answers every request that reaches it. */
  middleware(): Middleware;
  /** For node:http. `prefix` is the path that it is mounted below. */
  nodeHandler(prefix?: string): Middleware;
  /** For servers that use the web's Request and Response. */
  fetch(request: Request, prefix?: string): Promise<Response>;
}

/** @param onFailed Called when an answer could not be written although the client waits for it. */
export function mounted(handle: WebHandler, onFailed: (error: Error) => void): Mounted {
  const listen =
    (prefix: string): Middleware =>
    (request, response) =>
      void write(handle, request, response, prefix).catch((error: unknown) => {
        if (!hasGone(response))
          onFailed(new Error(`writing the answer failed: ${classAndLocationOf(error)}`, { cause: error }));
        response.destroy();
      });
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
    // Over HTTP/2, a response whose stream was closed counts as finished even if it was never ended.
    if (!response.writableEnded || !response.writableFinished) gone.abort();
  });
  // The client may have gone while the app's middleware ran; `close` is not emitted again.
  if (hasGone(response)) gone.abort();
  const request = requestOf(incoming, gone.signal);
  const answer = request ? await answered(handle, request, prefix, incoming) : refusal(notPlain);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else await send(answer.body, response);
  // An unread rest of the body would block the connection's next request; an endless one is cut off.
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

/** The request, or undefined if its target or method is refused. `signal` is aborted when the client goes away. */
function requestOf(incoming: ExpressRequest, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url: target = '/' } = incoming;
  if (unclear.test(target) || !plainMethod.test(method) || unknownMethods.has(method)) return undefined;
  const headers = new Headers();
  for (const [name, item] of headersOf(incoming)) headers.append(name, item);
  // HTTP/2 has it in place of the Host header.
  const authority = incoming.headers[':authority'];
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority);
  // Not from the Host header: the sender chooses that, and nothing depends on the host.
  const url = new URL(target, 'http://localhost');
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody && ({ body: bodyOf(incoming), duplex: 'half' } as const);
  return new Request(url, { method, headers, signal, ...body });
}

const notPlain = new ApiProblem(
  400,
  'path_invalid',
  'The request should have a known method, and a plain path: without "//", ".", "..", a backslash or a host.',
);
const notBelow = new ApiProblem(404, 'not_found', 'There is nothing at this path.');

type HeadersOfRequest = Pick<IncomingMessage, 'headers'> & Partial<Pick<IncomingMessage, 'headersDistinct'>>;

/** All header lines, repeated ones included. HTTP/2 requests have only `headers`, which include pseudo-headers. */
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
  // Read lazily, and not destroyed at the end: the answer still goes over the same connection.
  return ReadableStream.from<Uint8Array>(incoming.iterator({ destroyOnReturn: false }));
}

/** Over HTTP/2 a body needs no header; the stream knows whether data follows the headers. */
function hasDeclaredBody(incoming: IncomingMessage | Http2ServerRequest): boolean {
  if ('stream' in incoming) return !incoming.stream.endAfterHeaders;
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = incoming.headers;
  return length !== '0' || encoding !== undefined;
}

/** Fails only when it is read, so that an unauthorized request is refused as unauthorized. */
function unreadable(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.error(new BodyReadBefore()) });
}

/** Answers 404 outside the prefix: a guard in front of us may protect only paths below it. */
async function answered(
  handle: WebHandler,
  request: Request,
  prefix: string,
  source: unknown,
): Promise<Response> {
  const path = pathBelow(request, prefix);
  return path === undefined ? refusal(notBelow) : handle(request, path, source);
}

/** The path below the prefix, empty for the prefix itself. It is not decoded: `%2F` within a name is no slash. */
function pathBelow(request: Request, given: string): string | undefined {
  const { pathname } = new URL(request.url);
  // The prefix may end with a slash. If that were kept, only the page's document would be found.
  const bare = given.endsWith('/') ? given.slice(0, -1) : given;
  // A URL has letters beyond ASCII encoded.
  const prefix = bare.replaceAll(/[^!-~]+/g, encodeURIComponent);
  if (prefix !== '' && pathname === prefix) return '';
  if (prefix !== '' && !pathname.startsWith(`${prefix}/`)) return undefined;
  const below = pathname.slice(prefix.length);
  return below.length > 1 && below.endsWith('/') ? below.slice(0, -1) : below;
}
