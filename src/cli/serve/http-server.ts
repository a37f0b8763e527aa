import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import Router from 'router';
import { listen, urlOf } from '../../http/listening.ts';
import { SlotSet } from '../../kit/collections.ts';
import { type Clock, pause, systemClock } from '../../kit/clock.ts';
import { answerJson, closeAfterLingering } from '../../kit/http-bodies.ts';
import type { Middleware } from '../../http/express.ts';
import type { Receiver } from '../../receiver/receiver.ts';
import { pagePath } from './guarded-page.ts';
import { metricsPath } from './metrics.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/**
 * How long an idle connection is kept, in milliseconds: longer than proxies in front usually keep it (60 s). Otherwise
 * a proxy could send a delivery on a connection that is just being closed.
 */
const keepAlive = 75_000;
/** How long open connections may take to close, in milliseconds. */
const closeTimeout = 3_000;
/** How long a delivery may wait for the receiver to start, in milliseconds: its sender waits for one second. */
const startTimeout = 700;

const healthPaths = { alive: '/healthz', ready: '/readyz' } as const;

export const ownPaths: readonly string[] = [...Object.values(healthPaths), metricsPath, pagePath];

/** Whether a path is one of these, or below the page. The router ignores case and a trailing slash. */
export function isOwnPath(path: string): boolean {
  const plain = path.toLowerCase().replace(/\/$/, '');
  return ownPaths.includes(plain) || plain.startsWith(`${pagePath}/`);
}

export interface Offer {
  readonly path: string;
  readonly page?: Middleware | undefined;
  readonly metrics?: Middleware | undefined;
  /** Called when a request that looks like a delivery comes to another path. */
  readonly onMisdirected?: () => void;
  readonly isReady?: () => boolean | Promise<boolean>;
  readonly clock?: Clock;
}

/** A receiver's own HTTP server. It takes deliveries, answers health checks, and serves the page. */
export class HttpServer {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #answering = new SlotSet<ServerResponse>();
  #isDraining = false;
  /** Settled when the receiver has started; undefined from then on. */
  #starting: Promise<void> | undefined;
  #closed: Promise<void> = Promise.resolve();

  constructor(receiver: Receiver, { clock = systemClock, ...offer }: Offer) {
    this.#clock = clock;
    const route = routerOf(receiver, offer);
    this.#server = createServer({ keepAliveTimeout: keepAlive }, (request, response) => {
      // The router would accept a target that is an absolute URL, by its path.
      if (request.url?.startsWith('/') !== true) return refuseTarget(response);
      this.#follow(response);
      if (this.#starting && request.method === 'POST') return void this.#passLater(route, request, response);
      route(request, response);
    });
  }

  /** The address that it listens on, with the actual port and without the path. */
  get url(): string {
    return urlOf(this.#server);
  }

  /** Resolves once the server listens. @throws RingbackError `port_in_use` or `listen_failed` */
  listen({ host, port }: Address): Promise<void> {
    return listen(this.#server, { host, port });
  }

  /**
   * Makes deliveries wait until the receiver has started. Refused, they would be sent again only seconds later, and one
   * on its last attempt would be lost.
   */
  holdUntil(started: Promise<void>): void {
    this.#starting = started
      .catch(() => {})
      .finally(() => {
        this.#starting = undefined;
      });
  }

  async #passLater(pass: RequestListener, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hasStarted = new AbortController();
    await Promise.race([this.#starting, pause(this.#clock, startTimeout, hasStarted.signal)]);
    hasStarted.abort();
    pass(request, response);
  }

  /** Accepts no more connections, and asks clients to close the existing ones. */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#answering.items) askToClose(response);
    this.#closed = new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async close(): Promise<void> {
    const cancel = this.#clock.after(closeTimeout, () => this.#server.closeAllConnections());
    await this.#closed;
    cancel();
  }

  /** Keeps track of the responses in flight, so that `drain` can ask to close their connections. */
  #follow(response: ServerResponse): void {
    if (this.#isDraining) askToClose(response);
    response.once('close', this.#answering.add(response));
  }
}

/**
 * Passes deliveries to the receiver, and answers the rest. It uses only the router of Express 5, because an app on
 * Express 4 would otherwise install a second Express.
 */
function routerOf(
  receiver: Receiver,
  { path, page, metrics, onMisdirected = () => {}, isReady = () => receiver.isReady }: Omit<Offer, 'clock'>,
): RequestListener {
  const router = new Router();
  router.get(healthPaths.alive, (_request, response) => answerJson(response, 200, { status: 'alive' }));
  router.get(healthPaths.ready, async (_request, response) => {
    const isWell = await isReady();
    answerJson(response, isWell ? 200 : 503, { status: isWell ? 'ready' : 'not_ready' });
  });
  if (metrics) router.get(metricsPath, metrics);
  if (page) router.use(pagePath, page);
  router.use(path, receiver.middleware());
  return (request, response) =>
    router(request, response, (error?: unknown) => {
      closeAfterLingering(request);
      if (error !== undefined) return answerJson(response, 500, { error: 'internal' });
      if (looksLikeDelivery(request)) onMisdirected();
      answerJson(response, 404, { error: 'not_found' });
    });
}

/** Looks for the platform's headers, so that scanners don't count as a subscription with a wrong URL. */
function looksLikeDelivery({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && (headers['x-webhook-event'] ?? headers['x-webhook-traceid']) !== undefined;
}

function refuseTarget(response: ServerResponse): void {
  response.writeHead(400, { 'content-type': 'application/json; charset=utf-8', connection: 'close' });
  response.end(JSON.stringify({ error: 'bad_target' }));
}

function askToClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
