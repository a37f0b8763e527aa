import { RingbackError, ringbackError } from '../../../errors/errors.ts';
import { messageOf } from '../../../kit/error-text.ts';

/** Why a database can't be used, by the code of its error. The driver's own words may name the user, and a person needs less. */
const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host has no address',
  ETIMEDOUT: 'nothing answers there',
  '28P01': 'it refused the user or its password',
  '28000': 'it refused the user',
  '3D000': 'there is no database of that name',
  '53300': 'it has no connection left',
  '57P03': 'it is starting up or shutting down',
  '25006': 'it can only be read, as a standby can',
  '42501':
    "the user's permissions don't suffice: it must own the schema, or have been granted all of its tables, sequences and functions",
};

/** The problem that kept an inbox from being opened. */
export function toProblem(error: unknown, database: string): RingbackError {
  return error instanceof RingbackError
    ? error
    : ringbackError('database_unreachable', { database, cause: openingCause(error) });
}

function openingCause(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return causes[code] ?? messageOf(error);
}
