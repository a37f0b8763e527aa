import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { codeOf, readCauseOf } from '../../../kit/error-text.ts';
import { sandboxMark } from '../../../kit/sqlite.ts';
import type { StoreCounts } from '../../store.ts';
import { openTimeout, openingCause, openingFix, problemOf } from './connection.ts';
import { isInbox, refuseForeign } from './foreign-database.ts';
import { schemaVersion, versionOf } from './migrations/migrate.ts';
import { prepareStatements } from './statements.ts';

/** What an examination found, without changing the file. */
interface Examination {
  readonly schema: number;
  /** Undefined unless the schema is that of this version. */
  readonly counts: StoreCounts | undefined;
}

/**
 * Finds out whether a file can be opened and written, and what is in it. Nothing is created, changed or migrated: not
 * even the journal mode, which every connection of a receiver sets.
 *
 * @throws RingbackError `database_foreign`; the driver's error if it can't be opened or written
 */
export function examineDatabase(file: string): Examination {
  requireNodeApi();
  const database = new Database(file, { fileMustExist: true, timeout: openTimeout });
  let reader: Database.Database | undefined;
  try {
    refuseForeign(database, file);
    // The last connection to close the file removes the WAL, which the next start would report as missing. One that may
    // only read doesn't; by reading, it opens the WAL.
    reader = new Database(file, { fileMustExist: true, readonly: true, timeout: openTimeout });
    reader.pragma('user_version');
    const schema = schemaOf(database);
    return { schema, counts: schema === schemaVersion ? countsIn(database) : undefined };
  } finally {
    database.close();
    reader?.close();
  }
}

/** Prepares all statements, because a receiver that can't prepare them would not start. */
function countsIn(database: Database.Database): StoreCounts {
  return prepareStatements(database).overview.counts();
}

/**
 * Writes the same version again, and rolls back. Neither permissions nor `begin immediate` show whether the disk is
 * mounted read-only: for a file that can only be read, SQLite grants a read lock instead.
 */
function schemaOf(database: Database.Database): number {
  database.exec('begin immediate');
  const found = versionOf(database);
  database.pragma(`user_version = ${found}`);
  database.exec('rollback');
  return found;
}

/** Why a file holds no inbox, and what to do about it unless its path and its permissions should be checked. */
interface NoInbox {
  readonly cause: string;
  readonly fix?: string | undefined;
}

/**
 * Why a file holds no inbox, or undefined if it holds one. Only reads the file.
 *
 * @throws RingbackError `database_full`: even to read, SQLite needs room for the index of the WAL
 */
export function whyNoInbox(file: string): NoInbox | undefined {
  requireNodeApi();
  try {
    // Checked before the driver opens it: on a pipe, it would wait for a writer.
    const found = statSync(file);
    if (!found.isFile())
      return { cause: found.isDirectory() ? 'it is a folder' : 'it is not a regular file' };
    const database = new Database(file, { readonly: true });
    try {
      if (isInbox(database)) return undefined;
      const isSandbox = database.pragma('application_id', { simple: true }) === sandboxMark;
      return {
        cause: isSandbox
          ? 'it is the database of a sandbox, not an inbox'
          : 'no receiver has stored anything in it',
      };
    } finally {
      database.close();
    }
  } catch (error) {
    const problem = problemOf(error, file);
    if (problem?.code === 'database_full') throw problem;
    const isOfDriver = codeOf(error).startsWith('SQLITE_');
    return { cause: isOfDriver ? openingCause(error) : readCauseOf(error), fix: openingFix(error) };
  }
}
