import { linkSync, rmSync, statSync, truncateSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { prepareNotedWal } from '../work/noted-wal.ts';
import { DatabaseFiles } from './database-files.ts';

/**
 * Closes a connection. If it is the last one, SQLite removes the WAL. A note of that WAL may still be there: on a full
 * disk, it can't be removed. Then the WAL is put back, empty, or the next start would say that it is missing. Even a
 * full disk takes another link to a file.
 */
export function closeDatabase(database: Database.Database, file: string): void {
  const putBack = linkedWal(database, file);
  database.close();
  putBack();
}

/** Keeps a noted WAL under another name, too. Returns the function that puts it back if it was removed. */
function linkedWal(database: Database.Database, file: string): () => void {
  const wal = notedWalOf(database, file);
  if (wal === undefined) return () => {};
  const link = `${wal}-kept`;
  return tried(() => {
    // One that a crash has left.
    rmSync(link, { force: true });
    linkSync(wal, link);
  })
    ? () => void tried(() => restore(link, wal))
    : () => {};
}

/** The path of the present WAL if the database has a note of it. */
function notedWalOf(database: Database.Database, file: string): string | undefined {
  if (database.memory) return undefined;
  try {
    if (database.inTransaction) database.exec('rollback');
    const files = new DatabaseFiles(database, file);
    return prepareNotedWal(database).isPresent(files.marks()) ? files.wal : undefined;
  } catch {
    // It is no inbox, or somebody has locked it, and so has it open.
    return undefined;
  }
}

function restore(link: string, wal: string): void {
  try {
    if (statSync(link).nlink > 1) return;
    // The database has all that it held, and may be written by others from now on.
    truncateSync(link);
    linkSync(link, wal);
  } finally {
    rmSync(link);
  }
}

/** Whether it succeeds: not all file systems have links. */
function tried(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
