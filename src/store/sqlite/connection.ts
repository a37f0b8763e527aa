import Database from 'better-sqlite3';
import { RingbackError, ringbackError } from '../../errors.ts';
import { messageOf } from '../../kit/error-text.ts';
import { hasNeededNodeApi } from '../../kit/node-api.ts';
import { standStill } from '../../kit/clock.ts';
import { migrate } from './migrations/migrate.ts';

/** How long opening, and what users do before the start, wait for another process, in milliseconds. */
const openPatience = 5_000;
/** More than the commit thread lets gather in the log. */
const pagesBeforeMain = 48_000;
/** How long to let another process turn the file to WAL before trying again, in milliseconds. */
const walPause = 20;

/** Opens the file, or says in a sentence why it can't. */
export function openDatabase(file: string): Database.Database {
  if (!hasNeededNodeApi()) throw ringbackError('node_too_old', { found: process.versions.node });
  let database: Database.Database | undefined;
  try {
    database = connect(file);
    // The commit thread writes the log back, so that the app's event loop never does, unless that can't keep up.
    database.pragma(`wal_autocheckpoint = ${pagesBeforeMain}`);
    migrate(database, file);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof RingbackError) throw error;
    throw ringbackError('database_unreadable', { database: file, cause: openingCause(error) });
  }
}

/** Why a file can't be opened or written. The driver says of a lock only that there is one. */
export function openingCause(error: unknown): string {
  if (isLocked(error)) return 'another process has locked it, such as a sandbox or a tool';
  const isReadonly = (error as { readonly code?: unknown } | undefined)?.code === 'SQLITE_READONLY';
  return isReadonly
    ? 'it, or the folder in which its log lies beside it, can only be read'
    : messageOf(error);
}

/** A connection with the settings that every one of them has. */
export function connect(file: string): Database.Database {
  const database = new Database(file, { timeout: openPatience });
  try {
    turnToWal(database);
    // FULL: a commit is on disk before it is acknowledged, whatever happens to the machine's power.
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    // What is deleted is overwritten: it is personal data, and a file may be copied by anyone who can read it.
    database.pragma('secure_delete = ON');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether another connection has the lock. */
export function isLocked(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_BUSY') || isOfKind(error, 'SQLITE_LOCKED');
}

/** Whether the disk has refused to read, write or sync. */
export function isDiskError(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_IOERR');
}

/** Whether the disk has no room. */
export function isDiskFull(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_FULL');
}

/** The driver's codes are SQLite's extended ones: those of a kind begin alike. */
function isOfKind(error: unknown, kind: string): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith(kind);
}

/**
 * SQLite waits for locks by itself, but not for the one that turns a new file to WAL: of processes that start at
 * once on one file, some would be refused. Whoever has locked a file for itself it does wait for, so it is told not
 * to: two patiences, one within the other, would multiply.
 */
function turnToWal(database: Database.Database): void {
  database.pragma('busy_timeout = 0');
  for (let waited = 0; !tryToTurn(database, waited); waited += walPause) standStill(walPause);
  database.pragma(`busy_timeout = ${openPatience}`);
}

/** Tries once. What a lock refuses counts only when there is no patience left. */
function tryToTurn(database: Database.Database, waited: number): boolean {
  try {
    database.pragma('journal_mode = WAL');
    return true;
  } catch (error) {
    if (!isLocked(error) || waited >= openPatience) throw error;
    return false;
  }
}
