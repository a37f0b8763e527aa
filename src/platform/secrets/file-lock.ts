import { chmodSync, lstatSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../errors/errors.ts';

/**
 * How long to wait for the lock at the most, in milliseconds. Whoever holds it does so for milliseconds, and the system
 * ends the lock of a process that is killed: after so long, a process that was suspended holds it.
 */
const timeout = 10_000;

/**
 * A lock between processes: SQLite's exclusive lock on an empty file, which stays. It needs no rule for the locks of
 * dead processes, unlike a lock that is held by the existence of a file: two processes could both find such a file
 * stale, and the second would remove the lock that the first has taken meanwhile.
 */
export class FileLock {
  readonly #path: string;
  readonly #database: Database.Database;

  /** @throws when the file can't be made or opened, or is something else than the file of a lock */
  constructor(path: string) {
    requireEmptyFile(path);
    requireNodeApi();
    this.#path = path;
    this.#database = new Database(path, { timeout });
    // By its path: to open and close the file would end a lock that another thread of this process has on it.
    if (isOpenToOthers(path)) chmodSync(path, 0o600);
  }

  /**
   * Does the work while no other process works under the same lock. It blocks this thread meanwhile.
   *
   * @throws when the lock can't be taken, or the work fails
   */
  hold(work: () => void): void {
    this.#take();
    try {
      work();
    } finally {
      // Nothing is written: the file stays empty.
      this.#database.exec('rollback');
    }
  }

  close(): void {
    this.#database.close();
  }

  #take(): void {
    try {
      // Otherwise a journal would stay beside the file when this process is killed.
      this.#database.pragma('journal_mode = memory');
      this.#database.exec('begin exclusive');
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY') throw error;
      const sentence = `another process has held its lock ${this.#path} for ${timeout / 1000} s`;
      throw new Error(sentence, { cause: error });
    }
  }
}

/** Through a link, the lock would be a file elsewhere; and a file with content is not one of ours. */
function requireEmptyFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || (found.isFile() && found.size === 0)) return;
  const what = found.isSymbolicLink() ? 'a link' : found.isDirectory() ? 'a folder' : 'something else';
  throw new Error(`its lock ${path} should be an empty file, or not there yet, but is ${what}`);
}

function isOpenToOthers(path: string): boolean {
  return (lstatSync(path).mode & 0o077) !== 0;
}
