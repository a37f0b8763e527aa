import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { fileOf } from './database-file.ts';

/**
 * The file of SQLite's log, to sync what another connection of this process has written to it. It lies beside the
 * database for as long as a connection is open, and no lock is kept on it that closing it here could let go.
 *
 * After a sync that failed, the kernel may say of the next one that it succeeded, while what the first one dropped is
 * on no disk, and everything behind it in the log could not be read. So nothing counts until the log has been written
 * back to the database, whose own sync then answers for it.
 */
export class LogFile {
  readonly #file: number;
  readonly #writeBack: () => void;
  #isDoubtful = false;

  /** `writeBack` writes all of the log back to the database, and syncs that; it throws unless that is done. */
  constructor(database: Database.Database, writeBack: () => void) {
    this.#file = openSync(`${fileOf(database)}-wal`, 'r+');
    this.#writeBack = writeBack;
  }

  /** @throws when the disk refuses */
  sync(): void {
    this.makeSure();
    this.#isDoubtful = true;
    fdatasyncSync(this.#file);
    this.#isDoubtful = false;
  }

  /** Another sync of the log may have failed. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** @throws when something before it may be missing on disk: then a commit would not count either */
  makeSure(): void {
    if (!this.#isDoubtful) return;
    this.#writeBack();
    this.#isDoubtful = false;
  }

  close(): void {
    closeSync(this.#file);
  }
}
