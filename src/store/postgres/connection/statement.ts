import { createRequire } from 'node:module';
import type pg from 'pg';
import { configError } from '../../../errors/errors.ts';
import { codeOf, messageOf } from '../../../kit/error-text.ts';

/** What a store sends to the database. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  readonly types: pg.CustomTypesConfig;
  /** The driver's name; 0 stands for the limit of the connection. */
  readonly query_timeout: number;
}

/** The types of 8-byte integers and of lists of them. */
const bigint = 20;
const bigints = 1016;

/**
 * How values are read: 8-byte integers as numbers, because sequences and milliseconds stay below 2^53. It is given with each
 * statement, and never set for the driver as a whole: that would change what the user's own queries return.
 */
function typesOf({ types }: typeof pg): pg.CustomTypesConfig {
  const listOfNumbers = (text: string): number[] =>
    text === '{}' ? [] : text.slice(1, -1).split(',').map(Number);
  return {
    getTypeParser(oid: number, format?: 'text' | 'binary') {
      if (format !== 'binary' && oid === bigint) return Number;
      if (format !== 'binary' && oid === bigints) return listOfNumbers;
      return types.getTypeParser(oid, format);
    },
  };
}

/**
 * The driver, an optional peer dependency: it is loaded when a store on Postgres is made.
 *
 * @throws ConfigError `package_missing`
 */
export function driver(): typeof pg {
  const require = createRequire(import.meta.url);
  try {
    return require('pg') as typeof pg;
  } catch (error) {
    // What is missing may also be something that the driver itself needs: then its own words are what helps.
    if (codeOf(error) !== 'MODULE_NOT_FOUND' || !messageOf(error).includes("'pg'")) throw error;
    throw configError('package_missing', { name: 'pg', purpose: 'an inbox on Postgres' });
  }
}

/**
 * Makes statements for a schema: the texts name tables as `ringback.events`. The schema is written into each statement, because
 * a pooler between here and the database keeps no search path from one transaction to the next.
 *
 * It is written into string literals, too: `'ringback.processes'` as the key of an advisory lock is the schema's own thereby. A
 * key without `ringback.` would be shared by all inboxes in the database.
 */
export class Statements {
  readonly schema: string;
  readonly #types: pg.CustomTypesConfig;

  constructor(schema: string) {
    this.schema = quoted(schema);
    this.#types = typesOf(driver());
  }

  of(text: string, values: readonly unknown[], timeout = 0): Statement {
    return {
      text: this.inSchema(text),
      values: [...values],
      types: this.#types,
      query_timeout: timeout,
    };
  }

  inSchema(text: string): string {
    return text.replaceAll(/\bringback\./g, `${this.schema}.`);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Whether an error is the database's answer, after which it is done with the statement. */
export function isAnswer(error: unknown): boolean {
  return error instanceof driver().DatabaseError;
}

/** Whether a write failed because of its values, and would fail again. Nothing was written. */
export function isInvalidData(error: unknown): boolean {
  // A value that isn't even of its type never reaches the database.
  if (error instanceof TypeError) return true;
  // Classes 22 and 23: data that is out of range or malformed, and what breaks a constraint.
  return /^2[23]/.test(codeOf(error));
}

/** Whether a transaction was ended because of another: a deadlock, or one that could not be serialized. */
export function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error));
}

/** Whether a lock was not to be had in the time that it was waited for. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** Whether the database has not given the number of a transaction to any yet. */
export function isUnknownTransaction(error: unknown): boolean {
  return codeOf(error) === '22023';
}
