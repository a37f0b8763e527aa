import type Database from 'better-sqlite3';
import { type RingbackError, ringbackError } from '../../../errors/errors.ts';
import type { DatabaseFiles } from './database-files.ts';

/** The main thread's connection, and the files that it has open; a database in memory has none. */
interface Opened {
  readonly database: Database.Database;
  readonly files: DatabaseFiles | undefined;
}

/**
 * Fails every write of this process, for good, once the database or its WAL has been deleted or replaced: whatever is
 * written from then on would be gone after a restart.
 */
export class FileGuard {
  readonly #file: string;
  readonly #opened: () => Opened | undefined;
  readonly #onLost: (found: string) => void;
  #problem: RingbackError | undefined;

  /** `onLost` is called once. */
  constructor(file: string, opened: () => Opened | undefined, onLost: (found: string) => void) {
    this.#file = file;
    this.#opened = opened;
    this.#onLost = onLost;
  }

  /** The problem if the files are known to be lost; nothing is looked at. */
  get problem(): RingbackError | undefined {
    return this.#problem;
  }

  /** Looks at the files, and returns the problem if they are lost. */
  look(): RingbackError | undefined {
    if (this.#problem) return this.#problem;
    const inbox = this.#opened();
    const found = inbox?.files?.changed();
    if (found !== undefined) {
      this.rescue();
      this.lose(found);
    }
    return this.#problem;
  }

  /** @throws RingbackError `database_replaced` if the files are lost */
  check(): void {
    const problem = this.look();
    if (problem) throw problem;
  }

  /** The commit thread has found the files lost. */
  lose(found: string): void {
    if (this.#problem) return;
    this.#problem = ringbackError('database_replaced', { database: this.#file, found });
    this.#onLost(found);
  }

  /**
   * Empties the WAL into the database. If only the WAL was deleted, or both were moved, nothing is lost then. And if
   * another database is in the place of this one, the next process doesn't take this WAL for that database's.
   */
  rescue(): void {
    try {
      this.#opened()?.database.pragma('wal_checkpoint(TRUNCATE)');
    } catch {
      // It is in a transaction, or the disk refuses: then what is in the files stays as it is.
    }
  }
}
