import { createRequire } from 'node:module';
import type pg from 'pg';
import { configError } from '../../../errors/errors.ts';
import { codeOf, messageOf } from '../../../kit/error-text.ts';
import { storable } from '../../../kit/values.ts';

/** A statement for the driver. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  readonly types: pg.CustomTypesConfig;
  /** The driver's option. With 0 it waits as long as the connection is there, or as its pool says. */
  readonly query_timeout: number;
}

const numbersOf = (text: string): number[] => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number));

/** Written as hex digits or, where `bytea_output` is `escape`, with octal escapes. */
function bytesOf(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  const unescaped = text.replace(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(unescaped, 'latin1');
}

/** How values are read that are not texts, by the number of their type in Postgres. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  [17, bytesOf],
  // 8-byte integers as numbers: sequences and milliseconds stay below 2^53.
  [20, Number],
  [23, Number],
  [114, (text) => JSON.parse(text) as unknown],
  [701, Number],
  [1007, numbersOf],
  [1016, numbersOf],
]);

/**
 * Given with each statement, and never set for the driver as a whole: that would change what the user's own queries
 * return. The driver's are not used either, because the user may have set others.
 */
const types: pg.CustomTypesConfig = { getTypeParser: (oid) => parsers.get(oid) ?? String };

/**
 * The driver, an optional peer dependency, which is loaded when first needed.
 *
 * @throws ConfigError `package_missing`
 */
export function driver(): typeof pg {
  const require = createRequire(import.meta.url);
  try {
    return require('pg') as typeof pg;
  } catch (error) {
    // If the driver itself lacks a module, its own error is the one that helps.
    if (codeOf(error) !== 'MODULE_NOT_FOUND' || !messageOf(error).includes("'pg'")) throw error;
    throw configError('package_missing', { name: 'pg', purpose: 'an inbox on Postgres' });
  }
}

/**
 * Makes statements for a schema. Their texts name tables as `ringback.events`, where the schema's name replaces
 * `ringback`: a search path would be lost behind a pooler.
 *
 * String literals are replaced, too. So `'ringback.processes'`, as the key of an advisory lock, is the schema's own; a
 * key without `ringback.` would be shared by all inboxes in the database.
 */
export class Statements {
  readonly schema: string;

  constructor(schema: string) {
    this.schema = quoted(schema);
    // A store that was given a pool would otherwise miss the package only later.
    driver();
  }

  of(text: string, values: readonly unknown[], timeout: number): Statement {
    return {
      text: this.inSchema(text),
      values: values.map(stored),
      types,
      query_timeout: timeout,
    };
  }

  inSchema(text: string): string {
    return text.replaceAll(/\bringback\./g, `${this.schema}.`);
  }
}

/** Texts that Postgres would refuse, in a list too. Only texts for people can be such; no id is. */
function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored);
  return typeof value === 'string' ? storable(value) : value;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Whether an error is the database's answer, so that the statement is over. */
export function isAnswer(error: unknown): boolean {
  return error instanceof driver().DatabaseError;
}

/** Whether a write failed because of its values, and would fail again. Nothing was written. */
export function isInvalidData(error: unknown): boolean {
  // A value of a wrong type never reaches the database.
  if (error instanceof TypeError) return true;
  // Class 22: data that is malformed or out of range. Class 23: a violated constraint.
  return /^2[23]/.test(codeOf(error));
}

/** Whether a transaction was ended because of another: by a deadlock or a serialization failure. */
export function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error));
}

/** Whether the database on this connection can only be read, as a standby can. */
export function isReadOnly(error: unknown): error is Error {
  return codeOf(error) === '25006';
}

/** Whether the wait for a lock timed out. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** Whether the database has not given out the number of a transaction yet. */
export function isUnknownTransaction(error: unknown): boolean {
  return codeOf(error) === '22023';
}
