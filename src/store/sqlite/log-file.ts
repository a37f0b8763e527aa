import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Clock } from '../../kit/clock.ts';
import { storePause } from '../store-pause.ts';
import { fileOf } from './database-file.ts';

/**
 * The file of SQLite's log, to sync what another connection of this process has written to it. It lies beside the
 * database for as long as a connection is open, and no lock is kept on it that closing it here could let go.
 *
 * After a sync that failed, the kernel may say of the next one that it succeeded, while what the first one dropped is
 * on no disk, and everything behind it in the log could not be read. So nothing counts until the log has been written
 * back to the database, whose own sync then answers for it.
 *
 * After the disk was full nothing is added either until then. The log would take whatever room there is again, bit by bit,
 * until there is not enough for the database to take the log: then no room that the log has could be had again.
 */
export class LogFile {
  readonly #file: number;
  readonly #writeBack: () => void;
  readonly #clock: Clock;
  /** Whether something in it may be missing on disk. */
  #isDoubtful = false;
  /** Whether it is to be written back before anything is added. */
  #isFull = false;
  /** Why the log could not be written back, and when that may be tried again: each try may take long. */
  #failure: { readonly error: unknown; readonly until: number } | undefined;

  /** `writeBack` writes all of the log back to the database, and syncs that; it throws unless that is done. */
  constructor(database: Database.Database, clock: Clock, writeBack: () => void) {
    this.#file = openSync(`${fileOf(database)}-wal`, 'r+');
    this.#clock = clock;
    this.#writeBack = writeBack;
  }

  /** @throws when the disk refuses */
  sync(): void {
    if (this.#isDoubtful) this.makeSure();
    this.#isDoubtful = true;
    fdatasyncSync(this.#file);
    this.#isDoubtful = false;
  }

  /** Another sync of the log may have failed. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** The disk has no room for more of it. */
  full(): void {
    this.#isFull = true;
  }

  /** @throws when a commit would not count, or must not take the room that there is */
  makeSure(): void {
    if (!this.#isDoubtful && !this.#isFull) return;
    if (this.#failure && this.#clock.elapsed() < this.#failure.until) throw this.#failure.error;
    try {
      this.#writeBack();
    } catch (error) {
      this.#failure = { error, until: this.#clock.elapsed() + storePause };
      throw error;
    }
    this.#failure = undefined;
    this.#isDoubtful = false;
    this.#isFull = false;
  }

  close(): void {
    closeSync(this.#file);
  }
}
