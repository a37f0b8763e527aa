import type Database from 'better-sqlite3';
import { isDiskFull, isLocked } from '../connection/connection.ts';
import type { LogIndex } from '../connection/wal-index.ts';

/**
 * What a checkpoint reports: whether another connection stood in its way, the pages in the log, and how many of them
 * are in the database.
 */
export interface Progress {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Writes the log back to the database: `PASSIVE` as much of it as it can without waiting for other connections,
 * `TRUNCATE` all of it, so that the log begins anew.
 */
export class Checkpoint {
  readonly #statement: Database.Statement;
  readonly #index: LogIndex;

  constructor(database: Database.Database, index: LogIndex, mode: 'PASSIVE' | 'TRUNCATE') {
    this.#statement = database.prepare(`pragma wal_checkpoint(${mode})`);
    this.#index = index;
  }

  /**
   * Writes back, and then has the database synced by `sync`, if SQLite did not do so itself.
   *
   * After a sync that failed, the kernel may drop what it was to write, and report success for the next sync. Nobody
   * would write those pages again, because SQLite counts them as written back: the log, which has the only good copy of
   * them, would begin anew over it. So the next checkpoint begins with the first page of the log again.
   *
   * @throws when the disk refuses
   */
  run(sync = (): void => {}): Progress {
    try {
      const progress = this.#statement.get() as Progress;
      sync();
      return progress;
    } catch (error) {
      // A full disk refuses to write, and drops nothing.
      if (!isLocked(error) && !isDiskFull(error)) this.#index.forgetWrittenBack();
      throw error;
    }
  }
}
