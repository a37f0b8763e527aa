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
      // A target that is no path is at no path of ours; Express would answer it with a page.
      if (request.url?.startsWith('/') !== true) request.url = '/';
      app(request, response);
    };
    this.#server = createServer(answer);
    // What a client expects that we don't know is not looked at; Node would answer it without a body.
    this.#server.on('checkExpectation', answer);
    this.#server.on('clientError', answerBrokenRequest);
  }

  /** Where it listens: the port is the one that the system chose. */
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

  /** Takes no more requests, and resolves when those under way are answered, or have taken too long. */
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

/** What can't be decoded is taken as it is written: an id that nobody has, and no error of Express's own. */
function makeDecodable(request: Request, _response: Response, next: NextFunction): void {
  const [path = '', ...query] = request.url.split('?');
  try {
    decodeURIComponent(path);
  } catch {
    request.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
}
