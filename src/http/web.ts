import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Middleware } from './express.ts';

/** Answers a request at a path below the place where it is mounted. `source` is the request as its server knows it. */
export type WebHandler = (request: Request, path: string, source: unknown) => Promise<Response>;

/** What Express leaves on a request: the part of the path that has been matched is gone from its `url`. */
interface ExpressRequest extends IncomingMessage {
  readonly body?: unknown;
}

/** The three ways to mount what speaks Request and Response. */
export interface Mounted {
  /** For Express 4 and 5. It answers every request that reaches it. */
  middleware(): Middleware;
  /** For node:http. `prefix` is the part of the path that it is mounted below. */
  nodeHandler(prefix?: string): Middleware;
  /** For anything that speaks Request and Response. */
  fetch(request: Request, prefix?: string): Promise<Response>;
}

/** Mounts a handler. */
export function mounted(handle: WebHandler): Mounted {
  const listen =
    (prefix: string): Middleware =>
    (request, response) =>
      void write(handle, request, response, prefix).catch(() => response.destroy());
  return {
    middleware: () => listen(''),
    nodeHandler: (prefix = '') => listen(prefix),
    fetch: (request, prefix = '') => handle(request, pathOf(request, prefix), request),
  };
}

async function write(
  handle: WebHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
  prefix: string,
): Promise<void> {
  const request = requestOf(incoming);
  const answer = await handle(request, pathOf(request, prefix), incoming);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else await pipeline(Readable.fromWeb(answer.body), response);
}

function requestOf(incoming: ExpressRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headersDistinct))
    for (const item of value ?? []) headers.append(name, item);
  // The host is whatever the sender says, and nothing is decided by it.
  const url = new URL(incoming.url ?? '/', 'http://localhost');
  const { method = 'GET' } = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(url, { method, headers, ...(hasBody && { body: bodyOf(incoming), duplex: 'half' }) });
}

/** A body parser of the app may have read the body before: what it has made of it is then written as JSON again. */
function bodyOf(incoming: ExpressRequest): ReadableStream | string {
  const isRead = incoming.readableDidRead || incoming.readableEnded;
  return isRead ? JSON.stringify(incoming.body ?? null) : (Readable.toWeb(incoming) as ReadableStream);
}

/** The path below the prefix, which is not taken apart: `%2F` within a name is no slash. */
function pathOf(request: Request, prefix: string): string {
  const { pathname } = new URL(request.url);
  const below =
    prefix === '' || !pathname.startsWith(`${prefix}/`) ? pathname : pathname.slice(prefix.length);
  return below.length > 1 && below.endsWith('/') ? below.slice(0, -1) : below;
}
