import Database from 'better-sqlite3';
import { DatabaseFiles, type FileIds } from '../../../src/store/sqlite/connection/database-files.ts';

/** The files of a database that a store has open. */
export function filesOf(file: string): FileIds {
  const database = new Database(file, { readonly: true });
  try {
    return new DatabaseFiles(database, file).ids;
  } finally {
    database.close();
  }
}
