import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import type { StoreCounts } from '../../store.ts';
import { ownIdentity } from '../work/process-identity.ts';
import { openTimeout } from './connection.ts';
import { refuseForeign } from './foreign-database.ts';
import { schemaVersion } from './migrations/migrate.ts';
import { statementsOf } from './open-inbox.ts';

/** What was found out about a file without changing it. */
export interface Examination {
  readonly schema: number;
  /** What is in it; undefined unless its schema is that of this version. */
  readonly counts: StoreCounts | undefined;
}

/**
 * Finds out whether a file can be opened and written, and what is in it. Nothing is created, changed or migrated: not
 * even the mode of its log, which every connection of a receiver sets.
 *
 * @throws RingbackError `database_foreign`; the driver's error if it can't be opened or written
 */
export function examineDatabase(file: string): Examination {
  requireNodeApi();
  const database = new Database(file, { fileMustExist: true, timeout: openTimeout });
  try {
    refuseForeign(database, file);
    const schema = schemaOf(database);
    return { schema, counts: schema === schemaVersion ? countsIn(database) : undefined };
  } finally {
    database.close();
  }
}

/** Also prepares what is not asked for: a receiver that can't would not start. */
function countsIn(database: Database.Database): StoreCounts {
  const process = { identity: ownIdentity(), marks: undefined, closesOnlyByItself: false };
  return statementsOf(database, process).overview.counts();
}

/**
 * Writes the same version again, and rolls back. Permissions alone don't show whether the disk is mounted read-only.
 * Neither does the lock for a write: for a file that can only be read, SQLite grants a lock for reading.
 */
function schemaOf(database: Database.Database): number {
  database.exec('begin immediate');
  const found = database.pragma('user_version', { simple: true }) as number;
  database.pragma(`user_version = ${found}`);
  database.exec('rollback');
  return found;
}
