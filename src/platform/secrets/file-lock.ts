import { chmodSync, lstatSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requireNodeApi } from '../../errors/errors.ts';
import type { Clock } from '../../kit/clock.ts';
import { codeOf } from '../../kit/error-text.ts';
import { wait } from '../requests/retry.ts';

/** How long to wait, in milliseconds. After this long, a suspended process holds the lock: a dead one holds none. */
const timeout = 10_000;
const interval = 10;

/**
 * A lock between processes: SQLite's exclusive lock on an empty file, which is never deleted. Unlike lock files that
 * lock by their existence, it needs no cleanup after a crash: two processes could both find such a file stale, and the
 * second would remove the lock that the first has taken meanwhile.
 */
export class FileLock {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #database: Database.Database;

  /** @throws when the file can't be created or opened, or isn't a lock's file */
  constructor(path: string, clock: Clock) {
    requireEmptyFile(path);
    requireNodeApi();
    this.#path = path;
    this.#clock = clock;
    // SQLite's own timeout would block the thread.
    this.#database = new Database(path, { timeout: 0 });
    // By its path: opening and closing the file would release a lock that another thread of this process has on it.
    if (isOpenToOthers(path)) chmodSync(path, 0o600);
  }

  /** Does the work while holding the lock, which is waited for without blocking the thread. */
  async hold(work: () => void, signal?: AbortSignal): Promise<void> {
    const deadline = this.#clock.elapsed() + timeout;
    for (let busy = this.#take(); busy !== undefined; busy = this.#take()) {
      if (this.#clock.elapsed() >= deadline) throw heldTooLong(this.#path, busy);
      await wait(this.#clock, interval, signal);
    }
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

  #take(): Error | undefined {
    try {
      // Otherwise a killed process would leave a journal beside the file.
      this.#database.pragma('journal_mode = memory');
      this.#database.exec('begin exclusive');
      return undefined;
    } catch (error) {
      if (error instanceof Error && codeOf(error) === 'SQLITE_BUSY') return error;
      throw error;
    }
  }
}

function heldTooLong(path: string, cause: Error): Error {
  return new Error(`another process has held its lock ${path} for ${timeout / 1_000} s`, { cause });
}

/** Refuses a link, behind which the lock would be another file, and a file with content, which isn't ours. */
function requireEmptyFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || (found.isFile() && found.size === 0)) return;
  const what = found.isSymbolicLink() ? 'a link' : found.isDirectory() ? 'a folder' : 'something else';
  throw new Error(`its lock ${path} should be an empty file, or not there yet, but is ${what}`);
}

function isOpenToOthers(path: string): boolean {
  return (lstatSync(path).mode & 0o077) !== 0;
}
