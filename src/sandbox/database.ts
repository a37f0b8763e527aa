import BetterSqlite from 'better-sqlite3';
import { RingbackError, ringbackError } from '../errors.ts';
import { messageOf } from '../kit/error-text.ts';

/** An open connection of the database driver. */
export type Connection = BetterSqlite.Database;

/** The version of all tables together; a file of a later one is refused. */
const tablesVersion = 1;
/** Written into the file's head, so that a receiver's inbox, or anything else, is never taken for a sandbox's: "RBsb". */
const applicationId = 0x52_42_73_62;

/** The sandbox's state: one SQLite file, or memory. Each part brings its own tables. */
export class Database {
  readonly connection: Connection;
  /** Whether nobody has filled it yet. */
  readonly isNew: boolean;

  /**
   * Opens or creates the file; `':memory:'` is gone when it is closed.
   *
   * @throws RingbackError `database_unreadable`, `database_newer`
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

  /** Fills a new database. All of it is there afterwards, or the database is new still. */
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

function open(file: string): { readonly connection: Connection; readonly version: number } {
  let connection: Connection | undefined;
  try {
    // Who has the lock keeps it until it ends: there is nothing to wait for.
    connection = new BetterSqlite(file, { timeout: 0 });
    // Two sandboxes on one file would each send what is due. The lock goes with the process, however it ends.
    connection.pragma('locking_mode = EXCLUSIVE');
    const version = versionOf(connection, file);
    connection.pragma('journal_mode = WAL');
    // A process that ends loses nothing. A machine that ends may cost the last moments of what is only a trial.
    connection.pragma('synchronous = NORMAL');
    connection.pragma('foreign_keys = ON');
    connection.pragma(`application_id = ${applicationId}`);
    return { connection, version };
  } catch (error) {
    connection?.close();
    if (error instanceof RingbackError) throw error;
    throw ringbackError('database_unreadable', { database: file, cause: causeOf(error) });
  }
}

/** The driver says of a lock only that there is one. */
function causeOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  return code.startsWith('SQLITE_BUSY')
    ? 'another process has it open, such as another sandbox'
    : messageOf(error);
}

/** The version of the file's tables, 0 when it is new. */
function versionOf(connection: Connection, file: string): number {
  const read = (pragma: string) => connection.pragma(pragma, { simple: true }) as number;
  const tables = connection.prepare('select count(*) from sqlite_schema').pluck().get();
  if (tables !== 0 && read('application_id') !== applicationId) {
    const cause = "it is the database of something else than Ringback's sandbox";
    throw ringbackError('database_unreadable', { database: file, cause });
  }
  const found = read('user_version');
  if (found > tablesVersion) {
    throw ringbackError('database_newer', { database: file, found, expected: tablesVersion });
  }
  return found;
}
