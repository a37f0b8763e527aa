/** The three error bodies of the platform's document, and which problem is answered with which (Errors). */
import { randomUUID } from 'node:crypto';
import { isoTime } from '../model.ts';
import type { ApiAnswer, ApiError, ErrorForm, Issue } from './route.ts';

export interface RequestProblem {
  readonly kind: ApiError['kind'] | 'method_not_allowed';
  readonly message: string;
  readonly issues: readonly Issue[];
}

interface ErrorContext {
  readonly path: string;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/** The document shows 401, 404, 503 and 422, and 400 for subscriptions. The other uses follow HTTP. */
const statuses = {
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  invalid: 422,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<RequestProblem['kind'], number>;

/** The document shows only VALIDATION_ERROR; the others are the sandbox's choice. */
const types = {
  not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_ALLOWED',
  invalid: 'VALIDATION_ERROR',
  too_many_requests: 'TOO_MANY_REQUESTS',
  internal: 'INTERNAL_ERROR',
  unavailable: 'SERVICE_UNAVAILABLE',
} as const;

/** The answer to a request with a problem, in the form of its operation's errors. */
export function errorAnswer(problem: RequestProblem, form: ErrorForm, context: ErrorContext): ApiAnswer {
  if (form === 'subscription') return subscriptionError(problem, context);
  const { kind, message, issues } = problem;
  const status = statuses[kind];
  return kind === 'invalid'
    ? { status, body: { detail: issues } }
    : { status, body: { error: kind, message } };
}

function subscriptionError(
  { kind, message, issues }: RequestProblem,
  { path, now }: ErrorContext,
): ApiAnswer {
  const traceId = randomUUID();
  if (kind === 'unauthorized') {
    return { status: statuses[kind], body: { error: 'Authentication', message, traceId } };
  }
  const status = kind === 'invalid' ? 400 : statuses[kind];
  const details = Object.fromEntries(issues.map(({ loc, msg }) => [nameOf(loc), msg]));
  return {
    status,
    body: { status, type: types[kind], message, details, timestamp: isoTime(now), path, trace_id: traceId },
  };
}

/** The dotted name of an invalid field without the part of the request, or the part's name if all of it is invalid. */
function nameOf(loc: Issue['loc']): string {
  return (loc.length > 1 ? loc.slice(1) : loc).join('.');
}
