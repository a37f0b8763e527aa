import type Database from 'better-sqlite3';
import { ringbackError } from '../../../../errors/errors.ts';
import { inboxMark } from '../../../../kit/sqlite.ts';
import { schema1 } from './schema-1.ts';

/**
 * The schema's history: the first entry makes schema 1, and each further one the next. Entries are only ever added, never
 * edited, because databases in the field have already been through them.
 */
export const migrations: readonly string[] = [schema1];

/** The schema that this version of Ringback writes. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to `schemaVersion`. A database that a newer version wrote is refused, never guessed:
 * an old program that writes to a new schema could lose what the new one promised to keep.
 */
export function migrate(database: Database.Database, name: string, through = migrations): void {
  // A database that is up to date needs no lock, which a process that commits all the time hardly ever lets go of.
  const version = through.length;
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found > version)
        throw ringbackError('database_newer', { database: name, found, expected: version });
      for (const migration of through.slice(found)) database.exec(migration);
      database.pragma(`user_version = ${version}`);
      // A mark that its users have given it since is theirs.
      if (found === 0) database.pragma(`application_id = ${inboxMark}`);
    })
    .immediate();
}

function versionOf(database: Database.Database): number {
  return database.pragma('user_version', { simple: true }) as number;
}
