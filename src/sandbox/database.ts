import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.ts';
import BetterSqlite from 'better-sqlite3';
import { RingbackError, requireNodeApi, ringbackError } from '../errors/errors.ts';
import { sandboxMark } from '../kit/sqlite.ts';
import { messageOf } from '../kit/error-text.ts';

export type Connection = BetterSqlite.Database;

/** The version of the tables; a file with a later version is refused. */
const tablesVersion = 1;

/** The sandbox's state: one SQLite file, or memory. Each part brings its own tables. */
export class Database {
  readonly connection: Connection;
  /** Whether the database was still empty when it was opened. */
  readonly isNew: boolean;

  /** @throws RingbackError `database_unreadable`, `database_newer`, `node_too_old` */
  constructor(file: string) {
    const { connection, version } = open(file);
    this.connection = connection;
    this.isNew = version === 0;
  }

  create(tables: string): void {
    this.connection.exec(tables);
  }

  /** Fills a new database in one transaction: if `work` throws, the database stays new. */
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

/** A page of a list, in order of position. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The position after which the next page begins; undefined on the last page. */
  readonly next: number | undefined;
}

/** A page of at most `size` items. An extra row shows that there is a next page. */
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
    // Waiting for the lock is useless: its holder keeps it until it closes the file.
    connection = new BetterSqlite(file, { timeout: 0 });
    // Two sandboxes on one file would both send every delivery. The lock ends with the process, even in a crash.
    connection.pragma('locking_mode = EXCLUSIVE');
    const version = versionOf(connection, file);
    connection.pragma('journal_mode = WAL');
    // Committed writes survive a crash of the process. A power cut may lose the last ones, which is fine for test data.
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

/** Explains a locked file, for which the driver's message is too short. */
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
    const cause = "it is not a database of Ringback's sandbox";
    throw ringbackError('database_unreadable', { database: file, cause, fix: 'Set another database.' });
  }
  const found = read('user_version');
  if (found > tablesVersion) {
    throw ringbackError('database_newer', { database: file, found, expected: tablesVersion });
  }
  return found;
}

/** How long a write may wait for others, in milliseconds: a crash loses at most the writes of that time. */
const maxWait = 20;
/** The size of a batch that is written without waiting: a longer transaction would delay deliveries. */
const maxWrites = 500;
const retryPause = 500;

/** Makes writes in batches, because many in a transaction cost little more than one. Readers call `flush` first. */
export class BatchedWrites {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #inTransaction: (writes: readonly (() => void)[]) => void;
  #writes: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(connection: Connection, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#inTransaction = connection.transaction((writes: readonly (() => void)[]) => {
      for (const write of writes) write();
    });
  }

  /** Queues a write, which is made soon, after all writes queued before it. */
  add(write: () => void): void {
    this.#writes.push(write);
    // With more, the database has refused them, and the timer retries.
    if (this.#writes.length === maxWrites) this.#try();
    else this.#after(maxWait);
  }

  /** Makes all queued writes now. If the database refuses them, for example on a full disk, they stay queued. */
  flush(): void {
    if (this.#writes.length > 0) this.#inTransaction(this.#writes);
    this.#writes = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Makes all queued writes for the last time: writes that the database refuses now are lost. */
  end(): void {
    this.#try();
    this.#cancelTimer?.();
  }

  /** Logs a failure, because the code that queued the writes has already moved on and must not fail with them. */
  #try(): void {
    try {
      this.flush();
    } catch (error) {
      this.#logger.error(
        { event: 'writes_failed', cause: messageOf(error) },
        'the database refuses the state of the sandbox',
      );
      this.#after(retryPause);
    }
  }

  #after(time: number): void {
    this.#cancelTimer ??= this.#clock.after(time, () => {
      this.#cancelTimer = undefined;
      this.#try();
    });
  }
}
