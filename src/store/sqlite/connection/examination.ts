import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import type { StoreCounts } from '../../store.ts';
import { openTimeout } from './connection.ts';
import { refuseForeign } from './foreign-database.ts';
import { schemaVersion } from './migrations/migrate.ts';
import { statementsOf } from './open-inbox.ts';

/** What an examination found, without changing the file. */
export interface Examination {
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
  return statementsOf(database).overview.counts();
}

/**
 * Writes the same version again, and rolls back. Neither permissions nor `begin immediate` show whether the disk is
 * mounted read-only: for a file that can only be read, SQLite grants a read lock instead.
 */
function schemaOf(database: Database.Database): number {
  database.exec('begin immediate');
  const found = database.pragma('user_version', { simple: true }) as number;
  database.pragma(`user_version = ${found}`);
  database.exec('rollback');
  return found;
}
