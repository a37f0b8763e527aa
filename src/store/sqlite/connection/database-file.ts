import { fdatasyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';

/** The name of the file that a connection has open. */
export function fileOf(database: Database.Database): string {
  const [main] = database.pragma('database_list') as { file: string }[];
  return main?.file ?? '';
}

/**
 * The database's own file, opened to sync what a checkpoint has written to it. SQLite syncs it only with the last
 * part of the log, which is written back while deliveries wait.
 *
 * It is never closed: the kernel would then release the locks of every connection that this process has to the file,
 * and another process could remove the log under them.
 */
export class DatabaseFile {
  readonly #name: string;
  #file: number | undefined;

  constructor(database: Database.Database) {
    this.#name = fileOf(database);
  }

  /** @throws when the disk refuses */
  sync(): void {
    this.#file ??= openSync(this.#name, 'r+');
    fdatasyncSync(this.#file);
  }
}
