import { openSync, writeSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { fileOf } from './database-file.ts';

/**
 * Where SQLite's index of the log says how many of the log's frames are in the database: four bytes in the header of
 * the index, whose form SQLite documents ("WAL-mode File Format", section "The WAL-Index File Format").
 */
const writtenBackAt = 96;
const nothing = new Uint8Array(4);

/**
 * The index of SQLite's log, which every connection has in its memory as a file.
 *
 * It is never closed: the kernel would then release the locks that the connections of this process have on it.
 */
export class LogIndex {
  readonly #name: string;
  #file: number | undefined;

  constructor(database: Database.Database) {
    this.#name = `${fileOf(database)}-shm`;
  }

  /** Has the next checkpoint, of whichever process, write back all of the log again. */
  forgetWrittenBack(): void {
    this.#file ??= openSync(this.#name, 'r+');
    writeSync(this.#file, nothing, 0, nothing.length, writtenBackAt);
  }
}
