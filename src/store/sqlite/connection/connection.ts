import { closeSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { RingbackError, requireNodeApi, ringbackError } from '../../../errors/errors.ts';
import { codeOf, messageOf } from '../../../kit/error-text.ts';
import { linkTarget } from '../../../kit/files.ts';
import { block } from '../../../kit/clock.ts';
import { refuseForeign } from './foreign-database.ts';
import { DatabaseFiles, type FileIds } from './database-files.ts';
import { migrate } from './migrations/migrate.ts';

/** How long opening the file, and users' writes before the start, wait for another process, in milliseconds. */
export const openTimeout = 5_000;
/** The number of pages in the WAL at which the app's connection checkpoints: the writer thread's begins earlier. */
const pagesBeforeMain = 48_000;
/** The room with which SQLite can certainly make the index of the WAL, in bytes. */
const roomForIndex = 65_536;
/** How long to wait while another process changes the file to WAL mode before trying again, in milliseconds. */
const walPause = 20;

/** Opens the file, or throws an error that says why it can't be opened. */
export function openDatabase(file: string): Database.Database {
  let database: Database.Database | undefined;
  try {
    database = connect(file, (opened) => refuseForeign(opened, file));
    // The writer thread checkpoints. The app's event loop must do so only if that thread can't keep up.
    database.pragma(`wal_autocheckpoint = ${pagesBeforeMain}`);
    migrate(database, file);
    return database;
  } catch (error) {
    database?.close();
    throw toProblem(error, file);
  }
}

/** The error that says why a file can't be opened. */
export function toProblem(error: unknown, file: string): RingbackError {
  return problemOf(error, file) ?? unreadable(error, file);
}

/** The problem behind a driver's error, if it is the disk, the file or its lock; undefined for other errors. */
export function problemOf(error: unknown, file: string): RingbackError | undefined {
  if (error instanceof RingbackError) return error;
  if (isDiskFull(error) || (isDiskError(error) && !hasRoom(file)))
    return ringbackError('database_full', { database: file });
  return isReadOnly(error) || isDiskError(error) || isLocked(error) ? unreadable(error, file) : undefined;
}

function unreadable(error: unknown, file: string): RingbackError {
  return ringbackError('database_unreadable', {
    database: file,
    cause: openingCause(error),
    fix: openingFix(error),
  });
}

/** Asked because SQLite reports a lack of room for the index of the WAL as an I/O error. */
function hasRoom(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize > roomForIndex;
  } catch {
    return true;
  }
}

/**
 * Why a file can't be opened or written, in more detail than the driver's message about a lock or a changed table.
 */
export function openingCause(error: unknown): string {
  if (isLocked(error)) return 'another process has locked it, such as a sandbox or a tool';
  // SQLite reports the same for a file that it can't open and for one that it can't create.
  if (isOfKind(error, 'SQLITE_CANTOPEN'))
    return 'it is a folder, or this process may not open it, or not write to the folder that it is in';
  if (isDamaged(error)) return `it is damaged (${messageOf(error)})`;
  if (isOfStatement(error)) return `it differs from the inbox of this version (${messageOf(error)})`;
  return isReadOnly(error) ? 'it, its WAL (-wal, -shm) or their folder is read-only' : messageOf(error);
}

/** What to do about such a file; undefined if its path and its permissions should be checked. */
export function openingFix(error: unknown): string | undefined {
  if (isLocked(error)) return 'Stop that process, or wait until it has finished, then try again.';
  return isDamaged(error) ? 'Restore it from a backup.' : undefined;
}

/**
 * Opens a further connection to files that are open already. Neither creates nor changes files: if they were deleted or
 * replaced, it would otherwise begin an empty inbox, or change somebody else's database.
 */
export function connectAgain(file: string, ids: FileIds): Database.Database {
  return connect(
    file,
    (opened) => {
      const found = new DatabaseFiles(opened, file, ids).changed();
      if (found !== undefined) throw ringbackError('database_replaced', { database: file, found });
    },
    { isThere: true },
  );
}

/**
 * Opens a connection with the settings of all connections.
 *
 * @param inspect Looks at the database before any setting changes it, and may throw
 */
export function connect(
  file: string,
  inspect = (_opened: Database.Database) => {},
  { isThere = false } = {},
): Database.Database {
  requireNodeApi();
  if (file !== ':memory:' && !isThere) makePrivate(file);
  const database = new Database(file, { timeout: openTimeout, fileMustExist: isThere });
  try {
    inspect(database);
    setWalMode(database);
    // FULL: a commit is on disk, safe from a power cut, before it is acknowledged.
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    // Overwrites what is deleted: it is personal data, and anyone who can read the file can copy it.
    database.pragma('secure_delete = ON');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Creates a file that only its owner can read, because it will hold transcripts and phone numbers. SQLite gives the
 * files beside it the same mode. An existing file keeps its mode.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(linkTarget(file), 'wx', 0o600));
  } catch {
    // The file exists, or SQLite will report why it can't be created.
  }
}

/** Whether another connection has the lock. */
export function isLocked(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_BUSY') || isOfKind(error, 'SQLITE_LOCKED');
}

/** Whether the disk has refused to read, write or sync. */
function isDiskError(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_IOERR');
}

/** Whether the disk has refused a sync. */
export function isFailedSync(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_IOERR_FSYNC');
}

/** Whether the disk has no room. */
function isDiskFull(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_FULL');
}

/** Whether the disk has failed or is full: see `WriterThread.#failClosed`. */
export function isDiskFailure(error: unknown): boolean {
  return isDiskError(error) || isDiskFull(error);
}

/** Whether the file, or the folder of its WAL, can only be read. */
function isReadOnly(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_READONLY');
}

function isDamaged(error: unknown): boolean {
  return isOfKind(error, 'SQLITE_CORRUPT');
}

/** Whether a statement itself failed, for example because it names a missing table. */
function isOfStatement(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_ERROR';
}

/** The driver's codes are SQLite's extended ones, which begin with the name of their kind. */
function isOfKind(error: unknown, kind: string): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith(kind);
}

/**
 * SQLite's busy timeout doesn't cover the lock that changes a new file to WAL mode: of several processes that start on one
 * file at the same time, some would be refused. So this waits itself. The busy timeout is off meanwhile, because it
 * does apply if a process has locked the whole file, and the two waits would multiply.
 */
function setWalMode(database: Database.Database): void {
  database.pragma('busy_timeout = 0');
  for (let waited = 0; !trySetWalMode(database, waited); waited += walPause) block(walPause);
  database.pragma(`busy_timeout = ${openTimeout}`);
}

/** Tries once. Returns false if the file is locked and time is left. */
function trySetWalMode(database: Database.Database, waited: number): boolean {
  try {
    database.pragma('journal_mode = WAL');
    return true;
  } catch (error) {
    if (!isLocked(error) || waited >= openTimeout) throw error;
    return false;
  }
}

/**
 * Sets a pragma, such as `busy_timeout = 0`, that is set again and again. The driver's `pragma` would leave a statement
 * behind each time, which keeps memory until a full garbage collection: see `UserStatements`.
 */
export function setPragma(database: Database.Database, setting: string): void {
  database.exec(`pragma ${setting}`);
}
