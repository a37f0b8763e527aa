import type Database from 'better-sqlite3';
import { ringbackError } from '../../../../errors/errors.ts';
import { inboxMark } from '../../../../kit/sqlite.ts';
import { schema2 } from './schema-2.ts';
import { schema3 } from './schema-3.ts';
import { schema4 } from './schema-4.ts';
import { schema5 } from './schema-5.ts';
import { schema6 } from './schema-6.ts';
import { schema7 } from './schema-7.ts';
import { schema8 } from './schema-8.ts';
import { schema9 } from './schema-9.ts';

/**
 * The schema's history: the first entry makes schema 2, and each of the others the next one. Entries are only ever
 * added, never edited, because databases in the field have already been through them. Schema 1 was never released.
 */
export const migrations: readonly string[] = [
  schema2,
  schema3,
  schema4,
  schema5,
  schema6,
  schema7,
  schema8,
  schema9,
];

/** The schema that this version of Ringback writes. */
export const schemaVersion = migrations.length + 1;

/**
 * Brings the database to `schemaVersion`. A database that a newer version wrote is refused, never guessed:
 * an old program that writes to a new schema could lose what the new one promised to keep.
 */
export function migrate(database: Database.Database, name: string): void {
  // A database that is up to date needs no lock, which a process that commits all the time hardly ever lets go of.
  if (isUpToDate(database)) return;
  database
    .transaction(() => {
      const found = database.pragma('user_version', { simple: true }) as number;
      if (found > schemaVersion) {
        throw ringbackError('database_newer', { database: name, found, expected: schemaVersion });
      }
      for (const migration of migrations.slice(Math.max(0, found - 1))) database.exec(migration);
      database.pragma(`user_version = ${schemaVersion}`);
      // Inboxes made before there was a mark get it now; a mark of their users' own is theirs.
      const mark = database.pragma('application_id', { simple: true });
      if (mark === 0) database.pragma(`application_id = ${inboxMark}`);
    })
    .immediate();
}

function isUpToDate(database: Database.Database): boolean {
  const version = database.pragma('user_version', { simple: true });
  const mark = database.pragma('application_id', { simple: true });
  return version === schemaVersion && mark !== 0;
}
