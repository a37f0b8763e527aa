import type Database from 'better-sqlite3';
import { connectAgain } from '../connection/connection.ts';
import { DatabaseFiles } from '../connection/database-files.ts';
import { type Statements, prepareStatements } from '../connection/statements.ts';
import { Checkpoints } from './checkpoints.ts';
import { type WriteGroup, prepareWriteGroup } from './write-group.ts';
import type { WriterData } from './write-message.ts';

/** The number of pages in the WAL at which a commit checkpoints by itself; the checkpoint thread begins far earlier. */
const checkpointPages = 36_000;
/** The size of the page cache, in kibibytes: large enough for the pages of the latest era. */
const cacheSize = 6_000;

/** The writer's connection to the database, and its prepared statements. */
export class WriterConnection {
  readonly files: DatabaseFiles;
  readonly checkpoints: Checkpoints;
  readonly write: WriteGroup;
  readonly #database: Database.Database;
  readonly #statements: Statements;

  /**
   * @param id The id under which the process has entered through this thread. A new thread begins without one: the entry
   *   gives back all claims of a former id, and events may come before it, in its commit, or if it is repeated because
   *   the database was locked. They are claimed under a new id.
   */
  constructor({ file, files }: Pick<WriterData, 'file' | 'files'>, id = 0) {
    this.#database = connectAgain(file, files);
    this.files = new DatabaseFiles(this.#database, file, files);
    this.#database.pragma('busy_timeout = 0');
    this.#database.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    this.#database.pragma(`cache_size = -${cacheSize}`);
    this.checkpoints = new Checkpoints(this.#database, file, files);
    this.#statements = prepareStatements(this.#database, id);
    this.write = prepareWriteGroup(this.#database, this.#statements);
  }

  /** The id under which the process has entered. */
  get process(): number {
    return this.#statements.processes.id;
  }

  /** Loads a filter of an earlier era into memory. Returns whether more are left. */
  loadFilter(): boolean {
    return this.#statements.earlier.loadOne();
  }

  /**
   * Empties the WAL, and then has the disk take a write.
   *
   * @throws unless both succeed
   */
  prove(): void {
    this.checkpoints.empty();
    this.#statements.disk.sync();
  }

  close(): void {
    this.checkpoints.close();
    this.#database.close();
  }
}
