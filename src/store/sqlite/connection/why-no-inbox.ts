import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { sandboxMark } from '../../../kit/sqlite.ts';
import { openingCause, problemOf } from './connection.ts';
import { isInbox } from './foreign-database.ts';

/**
 * Why a file holds no inbox, or undefined if it holds one. Only reads the file.
 *
 * @throws RingbackError `database_full`: even to read, SQLite needs room for the index of the WAL
 */
export function whyNoInbox(file: string): string | undefined {
  requireNodeApi();
  try {
    // Checked before the driver opens it: on a pipe, it would wait for a writer.
    const found = statSync(file);
    if (!found.isFile()) return found.isDirectory() ? 'it is a folder' : 'it is not a regular file';
    const database = new Database(file, { readonly: true });
    try {
      if (isInbox(database)) return undefined;
      return database.pragma('application_id', { simple: true }) === sandboxMark
        ? 'it is the database of a sandbox, not an inbox'
        : 'no receiver has stored anything in it';
    } finally {
      database.close();
    }
  } catch (error) {
    const problem = problemOf(error, file);
    if (problem?.code === 'database_full') throw problem;
    return openingCause(error);
  }
}
