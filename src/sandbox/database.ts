import BetterSqlite from 'better-sqlite3';
import { RingbackError, requireNodeApi, ringbackError } from '../errors/errors.ts';
import { sandboxMark } from '../kit/sqlite.ts';
import { messageOf } from '../kit/error-text.ts';

/** An open connection of the database driver. */
export type Connection = BetterSqlite.Database;

/** The version of all tables together; a file with a later version is refused. */
const tablesVersion = 1;
/** The sandbox's state: one SQLite file, or memory. Each part brings its own tables. */
export class Database {
  readonly connection: Connection;
  /** Whether the database had not been filled when it was opened. */
  readonly isNew: boolean;

  /**
   * Opens or creates the file; a database in memory (`':memory:'`) is lost when it is closed.
   *
   * @throws RingbackError `database_unreadable`, `database_newer`, `node_too_old`
   */
  constructor(file: string) {
    const { connection, version } = open(file);
    this.connection = connection;
    this.isNew = version === 0;
  }

  /** Creates the tables of a part: `create table if not exists …`. */
  create(tables: string): void {
    this.connection.exec(tables);
  }

  /** Fills a new database in one transaction: if `work` throws, the database is still new. */
  fill(work: () => void): void {
    this.connection.transaction(() => {
      work();
      this.connection.pragma(`user_version = ${tablesVersion}`);
    })();
  }

  close(): void {
    this.connection.close();
  }
}

/** A part of a list, in the order of the positions. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The position that the next page begins after; undefined on the last page. */
  readonly next: number | undefined;
}

/** A page of at most `size`. One row more than that says whether there is a next one. */
export function pageOf<Row extends { readonly position: number }, Item>(
  rows: readonly Row[],
  size: number,
  itemOf: (row: Row) => Item,
): Page<Item> {
  const page = rows.slice(0, size);
  const items = page.map((row) => itemOf(row));
  return { items, next: rows.length > size ? page.at(-1)?.position : undefined };
}

function open(file: string): { readonly connection: Connection; readonly version: number } {
  requireNodeApi();
  let connection: Connection | undefined;
  try {
    // A process that has the lock keeps it until it closes the file, so waiting for the lock is no use.
    connection = new BetterSqlite(file, { timeout: 0 });
    // Two sandboxes on one file would both send every delivery. The lock ends with the process, however that ends.
    connection.pragma('locking_mode = EXCLUSIVE');
    const version = versionOf(connection, file);
    connection.pragma('journal_mode = WAL');
    // Committed writes survive the end of the process. A power cut may lose the last ones, which test data can afford.
    connection.pragma('synchronous = NORMAL');
    connection.pragma('foreign_keys = ON');
    connection.pragma(`application_id = ${sandboxMark}`);
    return { connection, version };
  } catch (error) {
    connection?.close();
    if (error instanceof RingbackError) throw error;
    throw ringbackError('database_unreadable', { database: file, ...problemOf(error) });
  }
}

/** Of a locked file, the driver's message says only that it is locked. */
function problemOf(error: unknown): { readonly cause: string; readonly fix?: string } {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!code.startsWith('SQLITE_BUSY')) return { cause: messageOf(error) };
  return {
    cause: 'another process has it open, such as another sandbox',
    fix: 'Stop the other one, or set another database.',
  };
}

/** The version of the file's tables, 0 when it is new. */
function versionOf(connection: Connection, file: string): number {
  const read = (pragma: string) => connection.pragma(pragma, { simple: true }) as number;
  const tables = connection.prepare('select count(*) from sqlite_schema').pluck().get();
  if (tables !== 0 && read('application_id') !== sandboxMark) {
    const cause = "it is the database of something else than Ringback's sandbox";
    throw ringbackError('database_unreadable', { database: file, cause, fix: 'Set another database.' });
  }
  const found = read('user_version');
  if (found > tablesVersion) {
    throw ringbackError('database_newer', { database: file, found, expected: tablesVersion });
  }
  return found;
}
