import { RingbackError, ringbackError } from '../../../errors/errors.ts';
import { codeOf, messageOf } from '../../../kit/error-text.ts';
import { isLockTimeout } from './statement.ts';

/** Why a database can't be used, by the code of the error. The driver's own message may name the user. */
const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host has no address',
  ETIMEDOUT: 'nothing answers there',
  '28P01': 'it refused the user or its password',
  '28000': 'it refused the user',
  '3D000': 'there is no database with that name',
  '53300': 'it has no free connection left',
  '57P01': 'it has ended the connection',
  '57P03': 'it is starting up or shutting down',
  '25P03': 'its idle_in_transaction_session_timeout has ended the connection',
  '25P04': 'its transaction_timeout has ended the connection',
  '25006': 'it is read-only, like a standby',
  '42501':
    "the user's permissions don't suffice: it must own the schema, or have been granted all of its tables, sequences and functions",
};

/** Somebody has changed the inbox: a table, column or function is missing, or exists before the inbox is made. */
const changedCodes: ReadonlySet<string> = new Set(['42P01', '42703', '42883', '42P07', '42723']);

function isChanged(error: unknown): boolean {
  return changedCodes.has(codeOf(error));
}

/** The error that says why an inbox can't be opened. */
export function toProblem(error: unknown, database: string): RingbackError {
  if (error instanceof RingbackError) return error;
  if (isLockTimeout(error)) {
    const cause = 'another process has locked a table of the inbox, such as ringback inbox move';
    const fix = 'Stop that process, or wait until it has finished, then try again.';
    return ringbackError('database_unreachable', { database, cause, fix });
  }
  if (!isChanged(error))
    return ringbackError('database_unreachable', { database, cause: openingCause(error) });
  const cause = `it differs from the inbox of this version (${messageOf(error)})`;
  const fix = 'Restore what was changed, or name another schema.';
  return ringbackError('database_unreachable', { database, cause, fix });
}

/** A pooler's refusal has another code than the database's, and may name the user all the same. */
function openingCause(error: unknown): string {
  return causes[codeOf(error)] ?? messageOf(error).replaceAll(/\b(user|role)(?:: \S+| "[^"]*")/g, '$1');
}

/**
 * The error of a statement. Unlike the driver's own, it says what to do if the database can't be reached, has ended the
 * connection, or was changed.
 */
export function namedProblem(error: unknown, database: string): unknown {
  return isOfConnection(error) || isChanged(error) ? toProblem(error, database) : error;
}

/** SQLSTATEs with which the database ends or refuses a connection, and codes of the operating system. */
const connectionCodes = /^(?:08...|57P0.|E[A-Z]+|EAI_[A-Z]+)$/;
/** The driver's errors without a code. */
const connectionMessages =
  /^(?:Connection terminated|timeout (?:expired|exceeded)|Query read timeout|Client (?:has encountered|was closed))/;

/** Whether the connection failed: the database can't be reached, or has ended it. */
export function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof RingbackError) return false;
  const code = codeOf(error);
  return code === ''
    ? connectionMessages.test(error.message)
    : Object.hasOwn(causes, code) || connectionCodes.test(code);
}

/**
 * The error of work in a transaction whose connection was lost: the database's own, which came between two statements,
 * instead of the driver's about a later statement.
 */
export function withReason(error: unknown, lostBy: Error | undefined): unknown {
  const isDriversOwn = codeOf(error) === '' && isOfConnection(error);
  return isDriversOwn && lostBy && codeOf(lostBy) !== '' ? lostBy : error;
}
