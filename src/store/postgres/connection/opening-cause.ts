import { RingbackError, ringbackError } from '../../../errors/errors.ts';
import { codeOf, messageOf } from '../../../kit/error-text.ts';
import { intercepted } from '../../../kit/intercepted.ts';

/** Why a database can't be used, by the code of its error. The driver's own words may name the user, and a person needs less. */
const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host has no address',
  ETIMEDOUT: 'nothing answers there',
  '28P01': 'it refused the user or its password',
  '28000': 'it refused the user',
  '3D000': 'there is no database of that name',
  '53300': 'it has no connection left',
  '57P01': 'it has ended the connection',
  '57P03': 'it is starting up or shutting down',
  '25P03': 'its idle_in_transaction_session_timeout has ended the connection',
  '25P04': 'its transaction_timeout has ended the connection',
  '25006': 'it can only be read, as a standby can',
  '42501':
    "the user's permissions don't suffice: it must own the schema, or have been granted all of its tables, sequences and functions",
};

/** A table, a column or a function of the inbox is not there, or is there before the inbox is made: somebody has changed it. */
const changedCodes: ReadonlySet<string> = new Set(['42P01', '42703', '42883', '42P07', '42723']);

function isChanged(error: unknown): boolean {
  return changedCodes.has(codeOf(error));
}

/** The problem that kept an inbox from being opened. */
export function toProblem(error: unknown, database: string): RingbackError {
  if (error instanceof RingbackError) return error;
  if (!isChanged(error))
    return ringbackError('database_unreachable', { database, cause: openingCause(error) });
  const cause = `it is not as this version keeps an inbox (${messageOf(error)})`;
  const fix = 'Restore what was changed, or name another schema.';
  return ringbackError('database_unreachable', { database, cause, fix });
}

function openingCause(error: unknown): string {
  return causes[codeOf(error)] ?? messageOf(error);
}

/**
 * A part of the store that is asked while the inbox is open. What fails because the database can't be reached, has ended the
 * connection, or was changed, rejects with the problem; the driver's own error would say neither what failed nor what to do.
 */
export function namingProblems<Part extends object>(part: Part, database: string): Part {
  return intercepted(part, (call) => namingProblem(call, database));
}

/** The same for one call. */
export async function namingProblem<T>(call: () => T | Promise<T>, database: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw isOfConnection(error) || isChanged(error) ? toProblem(error, database) : error;
  }
}

/** Classes of SQLSTATE in which the database ends or refuses a connection, and the codes of the operating system. */
const connectionCodes = /^(?:08...|57P0.|E[A-Z]+|EAI_[A-Z]+)$/;
/** What the driver says without a code. */
const connectionMessages =
  /^(?:Connection terminated|timeout (?:expired|exceeded)|Query read timeout|Client (?:has encountered|was closed))/;

/** Whether the connection is to blame: the database can't be reached, or has ended it. */
export function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof RingbackError) return false;
  const code = codeOf(error);
  return code === ''
    ? connectionMessages.test(error.message)
    : Object.hasOwn(causes, code) || connectionCodes.test(code);
}

/**
 * The error of something done in a transaction whose connection was lost: what the database has said of that when nothing was under
 * way, instead of what the driver says of each statement after it.
 */
export function withReason(error: unknown, lostBy: Error | undefined): unknown {
  const isDriversOwn = codeOf(error) === '' && isOfConnection(error);
  return isDriversOwn && lostBy && codeOf(lostBy) !== '' ? lostBy : error;
}
