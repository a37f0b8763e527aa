import type { z } from 'zod';
import { ConfigError, RingbackError } from '../../errors/errors.ts';
import type { results } from './results.ts';

/** What is wrong with a request, in the API's one form. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  /** The methods that the path has, if it has not the one that was used. */
  readonly allow: readonly string[] | undefined;

  constructor(status: number, code: string, message: string, allow?: readonly string[]) {
    super(message);
    this.status = status;
    this.code = code;
    this.allow = allow;
  }
}

/** Problems of operations that are not about what was asked: the status that says so. */
const statuses: Readonly<Record<string, number>> = {
  receiver_not_started: 503,
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

/** The problem that an error of an operation is; undefined for one that is our fault. */
export function problemOf(error: unknown): ApiProblem | undefined {
  if (error instanceof ApiProblem) return error;
  if (!(error instanceof RingbackError)) return undefined;
  const status = statuses[error.code] ?? (error instanceof ConfigError ? 400 : undefined);
  return status === undefined ? undefined : new ApiProblem(status, error.code, error.message);
}

export function errorBody({ code, message }: ApiProblem): z.input<typeof results.Error> {
  return { error: { code, message } };
}
