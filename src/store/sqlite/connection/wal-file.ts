import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Clock } from '../../../kit/clock.ts';
import { storePause } from '../../store-pause.ts';
import { isDiskError, isDiskFull } from './connection.ts';
import { fileOf } from './database-file.ts';

/**
 * The file of SQLite's log, opened to sync what another connection of this process has written to it. The file lies
 * beside the database for as long as a connection is open. SQLite holds no lock on it that would be lost when it is
 * closed here.
 *
 * After a sync that failed, the kernel may report that the next one succeeded, although what the first one dropped is
 * not on disk. Everything behind that place in the log could then not be read. So no write counts until the log has
 * been written back to the database, whose own sync then confirms it.
 *
 * After the disk was full, nothing is added to the log until it has been written back either. Otherwise the log would
 * take whatever room becomes free, bit by bit, until too little is left for the database to take in the log; the
 * log's room could then never be freed.
 */
export class LogFile {
  readonly #file: number;
  readonly #writeBack: () => void;
  readonly #clock: Clock;
  /** Whether something in the log may be missing on disk. */
  #isDoubtful = false;
  /** Whether the log is to be written back before anything is added to it. */
  #isFull = false;
  /** Why the log could not be written back, and when that may be tried again: each try may take long. */
  #failure: { readonly error: unknown; readonly until: number } | undefined;

  /** `writeBack` writes all of the log back to the database, and syncs that; it throws unless that is done. */
  constructor(database: Database.Database, clock: Clock, writeBack: () => void) {
    this.#file = openSync(`${fileOf(database)}-wal`, 'r+');
    this.#clock = clock;
    this.#writeBack = writeBack;
  }

  /**
   * Begins the log anew if it can. An earlier process may have seen a sync of it fail, and was killed: what is added
   * behind that place could be lost in a power cut. If somebody else uses the log just then, it goes on as it is: another
   * receiver that was there at the failure knows of it, and a start must not fail for the sake of a mere possibility.
   */
  beginAnew(): void {
    try {
      this.#writeBack();
    } catch (error) {
      this.hear(error);
    }
  }

  /** @throws when the disk refuses */
  sync(): void {
    if (this.#isDoubtful) this.makeSure();
    this.#isDoubtful = true;
    fdatasyncSync(this.#file);
    this.#isDoubtful = false;
  }

  /**
   * Hears why a write through another connection has failed: its sync of the log may have, or the disk has no room for
   * more of the log.
   */
  hear(error: unknown): void {
    this.#isDoubtful ||= isDiskError(error);
    this.#isFull ||= isDiskFull(error);
  }

  /**
   * Writes the log back, if that is needed before the next commit.
   *
   * @throws when a commit would not count, or must not take the room that is left
   */
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
