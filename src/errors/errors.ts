/** The errors for users: each has a code and its message from `problems.ts`. */
import { hasNeededNodeApi } from '../kit/sqlite.ts';
import { type ProblemCode, problems } from './problems.ts';

/**
 * An error that you can fix: a wrong option, an unreadable database, a port in use. The message says what to do;
 * `code` is for programs.
 *
 * @example if (error instanceof RingbackError && error.code === 'database_full') process.exit(75);
 */
export class RingbackError extends Error {
  override readonly name: string = 'RingbackError';
  readonly code: ProblemCode;

  // Written out: apps that compile for ES2021 or earlier have no `ErrorOptions`.
  constructor(code: ProblemCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** A `RingbackError` about how Ringback was set up or called, such as an invalid option. */
export class ConfigError extends RingbackError {
  override readonly name = 'ConfigError';
}

type Details<Code extends ProblemCode> = Parameters<(typeof problems)[Code]>;

export function configError<Code extends ProblemCode>(code: Code, ...details: Details<Code>): ConfigError {
  const error = new ConfigError(code, sentence(code, details));
  Error.captureStackTrace(error, configError);
  return error;
}

export function ringbackError<Code extends ProblemCode>(
  code: Code,
  ...details: Details<Code>
): RingbackError {
  const error = new RingbackError(code, sentence(code, details));
  Error.captureStackTrace(error, ringbackError);
  return error;
}

/**
 * Does the work of the public function `owner[called]`. If it throws a RingbackError, the error's stack begins where
 * the user called that function: that is the line to fix.
 */
export function blameCaller<Owner extends object, Result>(
  owner: Owner,
  called: keyof Owner,
  work: () => Result,
): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof RingbackError) Error.captureStackTrace(error, owner[called] as () => unknown);
    throw error;
  }
}

/**
 * Must precede every use of the database driver, which would silently end the process on an older Node.
 *
 * @throws RingbackError `node_too_old`
 */
export function requireNodeApi(): void {
  if (!hasNeededNodeApi()) throw ringbackError('node_too_old', { found: process.versions.node });
}

function sentence(code: ProblemCode, details: readonly unknown[]): string {
  return (problems[code] as (...details: readonly unknown[]) => string)(...details);
}
