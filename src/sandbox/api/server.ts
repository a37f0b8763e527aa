import express, { type NextFunction, type Request, type Response } from 'express';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { listen, urlOf } from '../../listening.ts';
import { Answering, type AnsweringParts } from './answering.ts';
import { answerBrokenRequest } from './broken-requests.ts';
import type { Route } from './route.ts';

/** How long requests under way may take to end when the server is closed, in milliseconds. */
const closePatience = 1_000;

/** The HTTP server of the platform's API. */
export class ApiServer {
  readonly #server: Server;

  constructor(routes: readonly Route[], parts: AnsweringParts) {
    const app = appOf(routes, new Answering(parts));
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      // A request target that is not a path gets the 404 of an unknown path; Express would answer with an HTML page.
      if (request.url?.startsWith('/') !== true) request.url = '/';
      app(request, response);
    };
    this.#server = createServer(answer);
    // An unknown `Expect` header is ignored; Node would answer it with an error that has no body.
    this.#server.on('checkExpectation', answer);
    this.#server.on('clientError', answerBrokenRequest);
  }

  /** The address that the server listens on, with its actual port. */
  get url(): string {
    return urlOf(this.#server);
  }

  /**
   * Resolves once the server listens.
   *
   * @throws RingbackError `port_in_use` or `listen_failed`
   */
  listen(host: string, port: number): Promise<void> {
    return listen(this.#server, { host, port });
  }

  /** Takes no more requests, and resolves when those under way are answered, or were cut off after `closePatience`. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const timer = setTimeout(() => this.#server.closeAllConnections(), closePatience);
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    clearTimeout(timer);
  }
}

function appOf(routes: readonly Route[], answering: Answering): express.Express {
  const app = express().disable('x-powered-by').disable('etag').enable('case sensitive routing');
  app.use(makeDecodable);
  for (const [path, [first, ...others]] of Map.groupBy(routes, (route) => route.path)) {
    if (first) app.all(path, (request, response) => answering.answer([first, ...others], request, response));
  }
  app.use((request, response) => answering.answerUnknown(request, response));
  return app;
}

/** Takes a path that can't be decoded literally: it is then an unknown path or id, and no error page of Express's. */
function makeDecodable(request: Request, _response: Response, next: NextFunction): void {
  const [path = '', ...query] = request.url.split('?');
  try {
    decodeURIComponent(path);
  } catch {
    request.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
}
