import type { z } from 'zod';
import { ConfigError, RingbackError } from '../../errors/errors.ts';
import type { results } from './results.ts';

/** An error that the API answers with. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  /** The methods of the path, if the request's method isn't among them. */
  readonly allow: readonly string[] | undefined;

  constructor(status: number, code: string, message: string, allow?: readonly string[]) {
    super(message);
    this.status = status;
    this.code = code;
    this.allow = allow;
  }
}

/** The problem of a request for something that `authorize` hasn't allowed. */
export function forbidden(action: string): ApiProblem {
  return new ApiProblem(
    403,
    'forbidden',
    `You may not do this: authorize does not grant you the action ${action}.`,
  );
}

/** The statuses of errors that aren't 400. */
const statuses: Readonly<Record<string, number>> = {
  receiver_not_started: 503,
  // It continues at the next start, as the message says.
  bulk_action_left: 503,
  database_unreachable: 503,
  database_unreadable: 503,
  database_full: 503,
  database_replaced: 503,
  row_damaged: 500,
  quarantine_unknown: 404,
  quarantine_cut: 409,
  release_not_authentic: 409,
  release_unreadable: 409,
};

/** The messages that are meant for whoever calls a method, in the words of whoever sends a request. */
const messages: Readonly<Record<string, string>> = {
  receiver_not_started: 'The receiver does not run: it is not started, is stopping, or has stopped.',
};

/** Converts an error of an operation; undefined if it isn't the request's fault. */
export function problemOf(error: unknown): ApiProblem | undefined {
  if (error instanceof ApiProblem) return error;
  if (!(error instanceof RingbackError)) return undefined;
  const status = statuses[error.code] ?? (error instanceof ConfigError ? 400 : undefined);
  if (status === undefined) return undefined;
  return new ApiProblem(status, error.code, messages[error.code] ?? error.message);
}

/** No cache may store an answer: most hold personal data. */
export const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

export function refusal(problem: ApiProblem): Response {
  const { status, allow } = problem;
  const own = allow && { allow: allow.join(', ') };
  return new Response(JSON.stringify(errorBody(problem)), { status, headers: { ...headers, ...own } });
}

export function errorBody({ code, message }: ApiProblem): z.input<typeof results.Error> {
  return { error: { code, message } };
}
