import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { sandboxMark } from '../../../kit/sqlite.ts';
import { openingCause, problemOf } from './connection.ts';
import { isInbox } from './foreign-database.ts';

/**
 * Why a file holds no inbox, or undefined if it holds one. The file is only read; nothing is made in it.
 *
 * @throws RingbackError `database_full`: also to read, SQLite needs room for the index of the WAL
 */
export function whyNoInbox(file: string): string | undefined {
  requireNodeApi();
  try {
    // Not asked of the driver: it would wait for whoever opens the other end of a pipe.
    const found = statSync(file);
    if (!found.isFile()) return found.isDirectory() ? 'it is a folder' : 'it is no ordinary file';
    const database = new Database(file, { readonly: true });
    try {
      if (isInbox(database)) return undefined;
      return database.pragma('application_id', { simple: true }) === sandboxMark
        ? 'it is the file of a sandbox, and no inbox'
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
