import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as SecureAgent, request as requestHttps } from 'node:https';
import type { Clock } from '../../kit/clock.ts';
import type { DeliveryRequest } from './request.ts';

interface SendResult {
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  readonly latencyMs: number;
  readonly status: number | undefined;
  /** The answer's first kilobyte. */
  readonly answer: string | undefined;
  readonly failure: Failure | undefined;
}

/**
 * Why no answer came: no connection was made (`refused`, `unreachable`), it broke (`cut`), it was not trusted (`tls`),
 * the timeout passed (`timeout`), the answer was not HTTP (`not_http`), or the request can't be sent (`unsendable`).
 * After `cut`, `timeout` and `not_http` the receiver may have the event nevertheless.
 */
type Failure = 'refused' | 'unreachable' | 'cut' | 'tls' | 'timeout' | 'not_http' | 'unsendable';

interface SendOptions {
  /** Until the answer's end, in real milliseconds. */
  readonly timeout: number;
  /** Whether the connection is dropped as soon as the body is sent, before any answer. */
  readonly dropsAfterBody?: boolean;
}

/** How much of an answer is kept, in bytes. */
const maxAnswerKept = 1_024;
/** How long an idle connection is kept, in milliseconds: the other side might close an older one as it is reused. */
const maxIdle = 4_000;

const failures: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
};

/**
 * Sends requests over keep-alive connections, without following redirects. Certificates are checked. Timeouts are in
 * real time: a receiver has its full second at any speed of the calls.
 */
export class Sender {
  readonly #clock: Clock;
  readonly #agents = {
    http: new Agent({ keepAlive: true, timeout: maxIdle }),
    https: new SecureAgent({ keepAlive: true, timeout: maxIdle }),
  };
  readonly #requests = new Set<ClientRequest>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends a request, and resolves to its answer or failure; never rejects. */
  async send(delivery: DeliveryRequest, options: SendOptions): Promise<SendResult> {
    const startedAt = this.#clock.now();
    const begun = this.#clock.elapsed();
    const { status, answer, failure } = await this.#exchange(delivery, options);
    return { startedAt, latencyMs: this.#clock.elapsed() - begun, status, answer, failure };
  }

  /** Aborts the requests in flight, closes the connections, and opens no others. */
  close(): void {
    this.#isClosed = true;
    for (const request of this.#requests) request.destroy();
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #exchange(delivery: DeliveryRequest, { timeout, dropsAfterBody }: SendOptions): Promise<Exchange> {
    return new Promise((resolve) => {
      if (this.#isClosed) {
        resolve(failed('cut'));
        return;
      }
      let request: ClientRequest;
      try {
        request = this.#open(delivery);
      } catch {
        // Node refuses to send this header or to this address.
        resolve(failed('unsendable'));
        return;
      }
      let isLate = false;
      const cancelTimer = this.#clock.after(timeout, () => {
        isLate = true;
        request.destroy();
      });
      const end = (exchange: Exchange) => {
        cancelTimer();
        this.#requests.delete(request);
        resolve(isLate ? failed('timeout') : exchange);
      };
      this.#requests.add(request);
      request.on('response', (response) => readAnswer(response, end));
      // Without this, an answer of 101 would end the connection without an event.
      request.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        end({ status: statusCode, answer: '', failure: undefined });
      });
      request.on('error', (error) => end(failed(failureOf(error))));
      request.end(delivery.body, () => {
        if (dropsAfterBody === true) request.destroy();
      });
    });
  }

  #open({ url, headers }: DeliveryRequest): ClientRequest {
    const options = { method: 'POST', headers: { ...headers } };
    return url.startsWith('https:')
      ? requestHttps(url, { ...options, agent: this.#agents.https })
      : requestHttp(url, { ...options, agent: this.#agents.http });
  }
}

type Exchange = Pick<SendResult, 'status' | 'answer' | 'failure'>;

function failed(failure: Failure): Exchange {
  return { status: undefined, answer: undefined, failure };
}

/** Reads an answer of any length to its end, but keeps only the beginning. */
function readAnswer(response: IncomingMessage, end: (exchange: Exchange) => void): void {
  const kept: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    if (size < maxAnswerKept) kept.push(chunk);
    size += chunk.byteLength;
  });
  response.on('end', () => {
    const answer = Buffer.concat(kept).subarray(0, maxAnswerKept).toString();
    end({ status: response.statusCode, answer, failure: undefined });
  });
  // The answer was cut. After `end`, these events change nothing.
  response.on('error', () => end(failed('cut')));
  response.on('close', () => end(failed('cut')));
}

function failureOf(error: NodeJS.ErrnoException): Failure {
  const code = error.code ?? '';
  const known = failures[code];
  if (known) return known;
  if (code.startsWith('HPE_')) return 'not_http';
  return /^(?:ERR_TLS|ERR_SSL|CERT|DEPTH|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code) ? 'tls' : 'unreachable';
}
