import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { sandboxMark } from '../../../kit/sqlite.ts';
import { codeOf, readCauseOf } from '../../../kit/error-text.ts';
import { openingCause, openingFix, problemOf } from './connection.ts';
import { isInbox } from './foreign-database.ts';

/** Why a file holds no inbox, and what to do about it unless its path and its permissions should be checked. */
export interface NoInbox {
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
