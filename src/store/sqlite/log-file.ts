import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';

/**
 * The file of SQLite's log, to sync what another connection of this process has written to it. It lies beside the
 * database for as long as a connection is open, and no lock is kept on it that closing it here could let go.
 */
export class LogFile {
  readonly #file: number;

  constructor(database: Database.Database) {
    const [main] = database.pragma('database_list') as { file: string }[];
    this.#file = openSync(`${main?.file}-wal`, 'r+');
  }

  /** @throws when the disk refuses */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}
