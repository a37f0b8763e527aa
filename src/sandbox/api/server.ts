import {
  type IncomingMessage,
  STATUS_CODES,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { Duplex } from 'node:stream';
import Router, { type NextFunction, type Request, type Response } from 'router';
import { listen, urlOf } from '../../http/listening.ts';
import { systemClock } from '../../kit/clock.ts';
import { answerJson } from '../../kit/http-bodies.ts';
import { Answering, type AnsweringParts } from './answering.ts';
import type { Route } from './route.ts';

/** How long requests in flight may take to end when the server is closed, in milliseconds. */
const closeTimeout = 1_000;

export class ApiServer {
  readonly #server: Server;

  constructor(routes: readonly Route[], parts: AnsweringParts) {
    const router = routerOf(routes, new Answering(parts));
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      // A request target that isn't a path gets the 404 of an unknown path, whatever path is in it.
      if (request.url?.startsWith('/') !== true) request.url = '/';
      router(request, response, () => answerJson(response, 500, { error: 'internal' }));
    };
    this.#server = createServer(answer);
    // Ignores an unknown `Expect` header, which Node would answer with an error without a body.
    this.#server.on('checkExpectation', answer);
    this.#server.on('clientError', answerBrokenRequest);
  }

  /** The address that the server listens on, with its actual port. */
  get url(): string {
    return urlOf(this.#server);
  }

  /** Resolves once the server listens. @throws RingbackError `port_in_use` or `listen_failed` */
  listen(host: string, port: number): Promise<void> {
    return listen(this.#server, { host, port });
  }

  /** Accepts no more requests, and resolves when those in flight are answered, or cut after `closeTimeout`. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const cancel = systemClock.after(closeTimeout, () => this.#server.closeAllConnections());
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    cancel();
  }
}

function routerOf(routes: readonly Route[], answering: Answering): Router.Router {
  const router = new Router({ caseSensitive: true });
  router.use(makeDecodable);
  for (const [path, [first, ...others]] of Map.groupBy(routes, (route) => route.path)) {
    if (first)
      router.all(path, (request, response) => answering.answer([first, ...others], request, response));
  }
  router.use((request, response) => answering.answerUnknown(request, response));
  return router;
}

/** Takes an undecodable path literally: then it is an unknown path or id, and no error of the router. */
function makeDecodable(request: Request, _response: Response, next: NextFunction): void {
  const [path = '', ...query] = (request.url ?? '').split('?');
  try {
    decodeURIComponent(path);
  } catch {
    request.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
}

/** The status for a request that isn't valid HTTP, by the parser's error code; otherwise 400. */
const statuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** Answers a request that isn't valid HTTP, in the form of the general errors, and closes the connection. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? 400;
  const body = JSON.stringify({ error: 'bad_request', message: 'This could not be read as an HTTP request' });
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'connection: close',
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
}
