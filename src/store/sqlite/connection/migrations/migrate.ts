import type Database from 'better-sqlite3';
import { ringbackError } from '../../../../errors/errors.ts';
import { inboxMark } from '../../../../kit/sqlite.ts';
import { schema1 } from './schema-1.ts';

/**
 * The schema's history: the first entry makes schema 1, and each further one the next. Never edit a published entry,
 * because databases in the field have been through it; only add new ones.
 */
export const migrations: readonly string[] = [schema1];

/** The schema version of this version of Ringback. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to `schemaVersion`. Refuses a newer schema: an old program that writes to it could lose what the
 * new one promised to keep.
 */
export function migrate(database: Database.Database, name: string, through = migrations): void {
  // Without the lock if the database is up to date: a process that commits all the time hardly ever releases it.
  const version = through.length;
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found > version)
        throw ringbackError('database_newer', { database: name, found, expected: version });
      for (const migration of through.slice(found)) database.exec(migration);
      database.pragma(`user_version = ${version}`);
      // Only in a new database: users may have set another mark since.
      if (found === 0) database.pragma(`application_id = ${inboxMark}`);
    })
    .immediate();
}

/** The schema version of an inbox; 0 of an empty database. */
export function versionOf(database: Database.Database): number {
  return database.pragma('user_version', { simple: true }) as number;
}
