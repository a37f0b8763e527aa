import { hash } from 'node:crypto';
import { z } from 'zod';
import { ConfigError, RingbackError } from '../../errors/errors.ts';
import { describe, parseStrictly } from '../../errors/option-problems.ts';
import { problems } from '../../errors/problems.ts';
import { type Authorize, type Permission, askedPermission, requireAuthorize } from './access.ts';
import { readJson } from './json-body.ts';
import { type Changes, changesPath } from './changes.ts';
import { openApiDocument } from './openapi.ts';
import { requireOwnOrigin, requireOwnStream } from './origin.ts';
import { ApiProblem, forbidden, headers, problemOf, refusal } from './problem.ts';
import { type Operations, type Route, actionsOf } from './route.ts';
import { routes } from './routes.ts';
import { BoundedWork } from './bounds.ts';

/** Where the API describes itself. */
const documentPath = '/openapi.json';

export type ApiHandler = (request: Request, path: string, source: unknown) => Promise<Response>;

export interface ApiParts {
  readonly operations: Operations;
  readonly changes: Changes;
  readonly authorize: Authorize;
  /** Called with an error that isn't the request's fault. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * The API as a function of a request and its path below the mount point.
 *
 * @throws ConfigError without `authorize`: forgetting it must let nobody in
 */
export function apiHandler({ operations, changes, authorize, onFailed }: ApiParts): ApiHandler {
  requireAuthorize(authorize, 'receiver.api');
  const bounds = { search: new BoundedWork(), longRead: new BoundedWork() };
  return async (request, path, source) => {
    try {
      const permission = await askedPermission(authorize, request, source);
      if (!permission)
        throw new ApiProblem(
          403,
          'forbidden',
          'You may not use this API: authorize has not admitted this request.',
        );
      if (request.method === 'GET' && path === changesPath) return stream(changes, request, permission);
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const answering = { operations, bounds, permission };
      return answer(request, method, await resultOf(request, method, path, answering));
    } catch (error) {
      const problem = problemOf(error);
      // An abort by a client that has left is no failure, but another error meanwhile is reported.
      const { aborted, reason } = request.signal;
      if (!problem && !(aborted && error === reason)) onFailed(error);
      return refusal(
        problem ?? new ApiProblem(500, 'failed', 'The request failed. The log of the receiver says why.'),
      );
    }
  };
}

interface Answering {
  readonly operations: Operations;
  readonly bounds: Readonly<Record<NonNullable<Route['bound']>, BoundedWork>>;
  readonly permission: Permission;
}

/** @param method the request's, or GET for HEAD */
async function resultOf(
  request: Request,
  method: string,
  path: string,
  { operations, bounds, permission }: Answering,
): Promise<unknown> {
  if (method === 'GET' && path === documentPath) return openApiDocument();
  const { route, id } = routeOf(method, path);
  const needed = actionsOf(route);
  if (needed.length > 0 && !needed.some((action) => permission.actions.includes(action)))
    throw forbidden(needed.join(' or '));
  if (route.method !== 'GET') requireOwnOrigin(request, 'A change');
  const query = checkedQuery(route, new URL(request.url).searchParams);
  if (query['body'] === true) {
    if (!permission.actions.includes('bodies')) throw forbidden('bodies');
    // A page of another site can't read the answer, but could put its visitor on the audit list.
    requireOwnOrigin(request, 'A look at a body');
  }
  const body = route.body ? checked(route, route.body, await readJson(request), 'body') : {};
  const { signal } = request;
  const act = () => route.act(operations, { id, query, body, signal, ...permission });
  const acted = route.bound ? bounds[route.bound].run(act, signal) : act();
  const result = await acted.catch((error: unknown) => {
    if (!(error instanceof RingbackError) || error.code !== 'cursor_invalid') throw error;
    throw cursorProblem(route, query['cursor']);
  });
  if (result === undefined)
    throw new ApiProblem(404, 'not_found', `There is nothing at ${path}, or it has been removed.`);
  return result;
}

/** The route for a path. Routes without an id take precedence: `/events/replay` is no event. */
function routeOf(method: string, path: string): { readonly route: Route; readonly id: string } {
  const segments = path.split('/');
  const matching = routes.filter((candidate) => {
    const wanted = candidate.path.split('/');
    return (
      wanted.length === segments.length &&
      wanted.every((segment, index) => segment.startsWith('{') || segment === segments[index])
    );
  });
  const allowed = matching.filter((candidate) => candidate.method === method);
  const route = allowed.find(({ path: wanted }) => !wanted.includes('{')) ?? allowed[0];
  if (route)
    return { route, id: decoded(segments[route.path.split('/').findIndex((part) => part.startsWith('{'))]) };
  const methods = [...new Set(matching.map((candidate): string => candidate.method))];
  if (path === changesPath || path === documentPath) methods.push('GET');
  if (methods.includes('GET') && path !== changesPath) methods.push('HEAD');
  throw methods.length > 0
    ? new ApiProblem(405, 'method_not_allowed', `${path} accepts only ${methods.join(', ')}.`, methods)
    : new ApiProblem(
        404,
        'not_found',
        `There is no ${path === '' ? '/' : path}. See /openapi.json for the paths.`,
      );
}

/** The id in a segment. Clients resolve the segments `.` and `..`, even encoded ones, so these ids are `~.` and `~..`. */
function decoded(segment = ''): string {
  try {
    return decodeURIComponent(segment).replace(/^~(?=~*\.{1,2}$)/, '');
  } catch {
    throw new ApiProblem(400, 'path_invalid', 'The path should be percent-encoded UTF-8.');
  }
}

function checkedQuery(route: Route, parameters: URLSearchParams): Readonly<Record<string, unknown>> {
  const names = [...parameters.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw new ApiProblem(400, 'query_invalid', `${repeated} should be given only once.`);
  return checked(route, route.query ?? z.strictObject({}), Object.fromEntries(parameters), 'query');
}

function checked(
  route: Route,
  schema: z.ZodObject,
  value: unknown,
  part: 'query' | 'body',
): Readonly<Record<string, unknown>> {
  try {
    return parseStrictly(schema, value, `${route.method} ${route.path}`, part);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ApiProblem(400, `${part}_invalid`, error.message);
  }
}

/** Reports a cursor that its list never gave, which only the store can tell: everything else is checked before. */
function cursorProblem({ method, path }: Route, cursor: unknown): ApiProblem {
  const details = { list: `${method} ${path}`, found: describe(cursor) };
  return new ApiProblem(400, 'query_invalid', problems.cursor_invalid(details));
}

/** The stream names only the lists that have changed, so it needs only the action `look`. */
function stream(changes: Changes, request: Request, { actions }: Permission): Response {
  if (!actions.includes('look')) throw forbidden('look');
  requireOwnStream(request);
  // A client that left while `authorize` decided would take up a place: not every server cancels a body that nobody
  // reads.
  request.signal.throwIfAborted();
  // What buffers answers, such as a proxy, or compresses them, such as a middleware of the app, would never pass the
  // stream on.
  const own = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  };
  return new Response(changes.open(), { headers: { ...headers, ...own } });
}

/** Answers a page that polls without a body while nothing has changed. */
function answer(request: Request, method: string, result: unknown): Response {
  const text = JSON.stringify(result);
  const etag = `"${hash('sha256', text, 'base64url')}"`;
  if (method === 'GET' && hasTag(request.headers.get('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...headers, etag } });
  return new Response(request.method === 'HEAD' ? null : text, {
    status: 200,
    headers: method === 'GET' ? { ...headers, etag } : headers,
  });
}

/** Whether a header names the tag. A proxy that compresses answers makes it a weak one, `W/"…"`. */
function hasTag(header: string | null, etag: string): boolean {
  return header?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false;
}
