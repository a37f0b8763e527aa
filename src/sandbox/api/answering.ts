import { parse } from 'node:querystring';
import type { Logger } from 'pino';
import type { Request, Response } from 'router';
import { underSignals } from '../../kit/aborting.ts';
import { messageOf } from '../../kit/error-text.ts';
import { type Clock, pause } from '../../kit/clock.ts';
import { answerJson } from '../../kit/http-bodies.ts';
import type { Failure, Failures } from '../failures.ts';
import type { Caller } from '../model.ts';
import type { Tenants } from '../tenants.ts';
import { type RequestProblem, errorAnswer } from './error-bodies.ts';
import { readBody } from './request.ts';
import { type ApiAnswer, ApiError, type ErrorForm, type Route } from './route.ts';
import { readUpload } from './upload.ts';

export interface AnsweringParts {
  readonly tenants: Tenants;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly form: ErrorForm;
  readonly operation?: string;
}

const withBody: readonly string[] = ['POST', 'PUT'] satisfies Route['method'][];

/** The steps that all operations share, in this order: method, key, requested failure, body, the operation itself. */
export class Answering {
  readonly #parts: AnsweringParts;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
  }

  /** Answers a request to a path with these operations, one for each method. */
  async answer(routes: readonly [Route, ...Route[]], request: Request, response: Response): Promise<void> {
    const route = routes.find(({ method }) => method === request.method);
    if (!route) {
      response.setHeader('allow', routes.map(({ method }) => method).join(', '));
      const message = `${request.method} is not an operation of this path`;
      const exchange = { request, response, form: routes[0].errors };
      return this.#refuse({ kind: 'method_not_allowed', message, issues: [] }, exchange);
    }
    const exchange = { request, response, form: route.errors, operation: route.operation };
    try {
      this.#write(await this.#run(route, request, response), exchange);
    } catch (error) {
      this.#refuse(this.#problemOf(error, exchange), exchange);
    }
  }

  answerUnknown(request: Request, response: Response): void {
    const problem = { kind: 'not_found', message: 'There is no operation at this path', issues: [] } as const;
    this.#refuse(problem, { request, response, form: 'general' });
  }

  async #run(route: Route, request: Request, response: Response): Promise<ApiAnswer> {
    const { tenants, failures, stopping } = this.#parts;
    if (stopping.aborted) throw new ApiError('unavailable', 'The sandbox is stopping');
    const caller = authenticate(request.headers.authorization, tenants);
    const failure = failures.take(route.operation);
    if (failure?.kind === 'cut') response.destroy();
    if (failure && failure.kind !== 'late') throw requestedError(failure, response);
    const body = await bodyOf(route, request);
    return underSignals([stopping], async (ending) => {
      response.once('close', () => ending.abort());
      const { signal } = ending;
      const answer = await route.handle({
        caller,
        params: request.params as Readonly<Record<string, string>>,
        query: queryOf(request),
        body,
        signal,
      });
      if (failure) await pause(this.#parts.clock, failure.delay, signal);
      return answer;
    });
  }

  /** Logs an unexpected error of the sandbox. To the client it looks like a failure of the service. */
  #problemOf(error: unknown, { response, operation }: Exchange): RequestProblem {
    if (error instanceof ApiError) return error;
    const { logger, stopping } = this.#parts;
    // Work that was aborted because the client has left, or the sandbox stops, hasn't failed.
    if (!stopping.aborted && !response.destroyed) {
      logger.error({ event: 'request_failed', operation, error: messageOf(error) }, 'a request failed');
    }
    return { kind: 'unavailable', message: 'The service is not available', issues: [] };
  }

  #refuse(problem: RequestProblem, exchange: Exchange): void {
    const { request, response, form } = exchange;
    if (problem.kind === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
    const context = { path: pathOf(request), now: this.#parts.clock.now() };
    this.#write(errorAnswer(problem, form, context), exchange);
  }

  #write({ status, body }: ApiAnswer, { response, operation }: Exchange): void {
    const { logger, stopping } = this.#parts;
    if (response.destroyed) return;
    logger.debug({ event: 'request_answered', operation, status }, 'a request was answered');
    if (stopping.aborted) response.setHeader('connection', 'close');
    if (body !== undefined) return answerJson(response, status, body);
    response.statusCode = status;
    response.end();
  }
}

function bodyOf({ isUpload, method }: Route, request: Request): Promise<unknown> {
  if (isUpload === true) return readUpload(request);
  return withBody.includes(method) ? readBody(request) : Promise.resolve(undefined);
}

/** @throws ApiError `unauthorized`, the same for a missing, a malformed and an unknown token */
function authenticate(authorization: string | undefined, tenants: Tenants): Caller {
  const [, key] = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization ?? '') ?? [];
  const caller = key === undefined ? undefined : tenants.callerOf(key);
  if (caller === undefined) throw new ApiError('unauthorized', 'Missing or invalid bearer token');
  return caller;
}

function requestedError(failure: Exclude<Failure, { kind: 'late' }>, response: Response): ApiError {
  if (failure.kind === 'cut') return new ApiError('unavailable', 'The connection is cut');
  const { status, retryAfter } = failure;
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  if (status === 429) return new ApiError('too_many_requests', 'There are too many requests');
  if (status === 500) return new ApiError('internal', 'An internal error has occurred');
  return new ApiError('unavailable', 'The database is not available');
}

function queryOf({ originalUrl }: Request): Readonly<Record<string, string | readonly string[]>> {
  const start = originalUrl.indexOf('?');
  const query = parse(start === -1 ? '' : originalUrl.slice(start + 1));
  return query as Readonly<Record<string, string | readonly string[]>>;
}

function pathOf(request: Request): string {
  return request.originalUrl.split('?', 1)[0] ?? '';
}
