import type { Caller } from '../model.ts';

/** Whether an operation answers errors as those of subscriptions do, or as all others (platform document, Errors). */
export type ErrorForm = 'subscription' | 'general';

export interface ApiRequest {
  readonly caller: Caller;
  /** The parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** A repeated parameter becomes a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  /** Undefined without a body. For an upload, the file. */
  readonly body: unknown;
  /** Aborted when the client leaves or the sandbox stops. */
  readonly signal: AbortSignal;
}

/** An answer; with 204 it has no body. */
export interface ApiAnswer {
  readonly status: number;
  readonly body?: unknown;
}

export interface Route {
  /** Its name, such as `subscriptions.create`, in `sandbox.fail` and docs/coverage.md. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** In Express's syntax: `/v1/public/webhook/subscription/:id`. */
  readonly path: string;
  readonly errors: ErrorForm;
  readonly isUpload?: boolean;
  readonly handle: (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>;
}

/** One problem of a request: where, what, and of which type (platform document, HTTPValidationError). */
export interface Issue {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** Thrown by an operation; the server writes it in the form of the operation's errors. */
export class ApiError extends Error {
  readonly kind: 'unauthorized' | 'not_found' | 'invalid' | 'too_many_requests' | 'internal' | 'unavailable';
  readonly issues: readonly Issue[];

  constructor(kind: ApiError['kind'], message: string, issues: readonly Issue[] = []) {
    super(message);
    this.kind = kind;
    this.issues = issues;
  }
}

/** The error for a request with these problems. A message never repeats a value, which may be a credential. */
export function invalidRequest(...issues: readonly Issue[]): ApiError {
  return new ApiError('invalid', 'The request is not valid', issues);
}

/** Makes the routes of a group, which share the first part of their names and the form of their errors. */
export function routesOf(group: string, errors: ErrorForm) {
  return (operation: string, method: Route['method'], path: string, handle: Route['handle']): Route => ({
    operation: `${group}.${operation}`,
    method,
    path,
    errors,
    handle,
  });
}
