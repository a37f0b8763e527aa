import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { sandboxMark } from '../../../kit/sqlite.ts';
import { openingCause } from './connection.ts';
import { isInbox } from './foreign-database.ts';

/** Why a file holds no inbox, or undefined if it holds one. The file is only read; nothing is made in it. */
export function whyNoInbox(file: string): string | undefined {
  requireNodeApi();
  try {
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
    return openingCause(error);
  }
}
