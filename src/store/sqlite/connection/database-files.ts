import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { ringbackError, type RingbackError } from '../../../errors/errors.ts';
import { codeOf } from '../../../kit/error-text.ts';

/**
 * The files that a process's first connection has opened, which every later one must open, too: each by what identifies
 * it among all that exist at the same time.
 */
export interface FileIds {
  readonly database: string;
  readonly wal: string;
}

/** Marks that identify the database, its WAL, and the index of the WAL (-shm) later. */
export interface FileMarks {
  readonly database: string;
  readonly wal: string;
  readonly index: string;
}

/**
 * Watches the database and its WAL. SQLite goes on writing to a file that somebody has deleted or replaced, and all
 * that it reports as written is then gone after a restart.
 */
export class DatabaseFiles {
  readonly ids: FileIds;
  readonly #paths: readonly [database: string, wal: string];
  readonly #index: string;

  /**
   * @param file The path as configured: it may be a link, which a restart would follow again
   * @param ids Default: the files that are at the paths now
   */
  constructor(database: Database.Database, file: string, ids?: FileIds) {
    const name = fileOf(database);
    this.#paths = [file, `${name}-wal`];
    this.#index = `${name}-shm`;
    this.ids = ids ?? { database: idOf(at(file)), wal: idOf(at(this.#paths[1])) };
  }

  /**
   * What has become of the files, as the end of a sentence; undefined while both are in place. It looks at both paths,
   * which takes microseconds, and should come after a sync and before what was synced is acknowledged.
   *
   * @throws RingbackError `database_unreadable` when this process may not look
   */
  changed(): string | undefined {
    const [database, wal] = this.#paths;
    const expected = [
      { path: database, id: this.ids.database, name: 'it', place: 'its place' },
      { path: wal, id: this.ids.wal, name: 'its WAL (-wal)', place: 'the place of its WAL (-wal)' },
    ];
    for (const { path, id, name, place } of expected) {
      const found = at(path);
      if (!found) return `${name} was deleted or moved`;
      if (idOf(found) !== id) return `another file is in ${place}`;
    }
    return undefined;
  }

  /**
   * They include the time of creation, because the inode of a deleted file may be given to another one. Not so that of
   * the index, which matters only while a process has the file open, whose inode then isn't given away.
   */
  marks(): FileMarks {
    const [database, wal] = this.#paths.map((path) => markOf(at(path)));
    return { database: database ?? '', wal: wal ?? '', index: String(at(this.#index)?.ino ?? '') };
  }
}

/**
 * The absolute path of the file. Threads open it too, some much later: if the app has changed its working directory by
 * then, it must not get a second, empty inbox there.
 */
export function absoluteFile(file: string): string {
  const name = file.trim();
  return name === ':memory:' ? name : resolve(name);
}

/**
 * Refuses a file with a missing WAL that has a hard link, because the WAL lies beside the other name: SQLite keeps a
 * WAL for each name, and misses what is in the other.
 *
 * @throws RingbackError `database_unreadable`
 */
export function refuseOtherName(file: string): void {
  if ((at(file)?.nlink ?? 0) < 2) return;
  const cause = 'it has another name (a hard link), and its WAL is beside that one';
  const fix =
    'Let all processes use one name. If the other one is only a copy, such as a backup, make it a real one (cp) and remove the link.';
  throw ringbackError('database_unreadable', { database: file, cause, fix });
}

/**
 * Refuses a file whose index of the WAL was deleted while a process has it open. SQLite coordinates all writes by that
 * file: with another one, this process and that one would overwrite each other's.
 *
 * @throws RingbackError `database_unreadable`
 */
export function refuseOtherIndex(file: string): never {
  const cause = 'another process has it open, and the -shm of that process was deleted';
  const fix =
    'Stop every process that has it open, including any that only reads it, then start again: nothing is lost.';
  throw ringbackError('database_unreadable', { database: file, cause, fix });
}

/**
 * A path that can't be followed leads nowhere: a restart wouldn't find the file either.
 *
 * @throws RingbackError `database_unreadable` when this process may not look, so that nobody knows
 */
function at(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) !== 'EACCES') return undefined;
    const cause = 'this process may not search its folder';
    throw ringbackError('database_unreadable', { database: path, cause });
  }
}

function idOf(stats: Stats | undefined): string {
  return stats ? `${stats.dev}:${stats.ino}` : '';
}

/** Without the device, whose number may change at a reboot. */
function markOf(stats: Stats | undefined): string {
  return stats ? `${stats.ino}:${stats.birthtimeMs}` : '';
}

/** The path of the file that a connection has open. */
function fileOf(database: Database.Database): string {
  const [main] = database.pragma('database_list') as { file: string }[];
  return main?.file ?? '';
}

/**
 * Fails every write of this process, permanently, once the database or its WAL was deleted or replaced: what is written
 * from then on would be gone after a restart.
 */
export class FileGuard {
  /** The problem, once the files are known to be lost. */
  problem: RingbackError | undefined;
  readonly #file: string;
  readonly #files: () => DatabaseFiles | undefined;
  readonly #onLost: (found: string) => void;

  /** `onLost` is called once. */
  constructor(file: string, files: () => DatabaseFiles | undefined, onLost: (found: string) => void) {
    this.#file = file;
    this.#files = files;
    this.#onLost = onLost;
  }

  /**
   * Looks at the files.
   *
   * @throws RingbackError `database_replaced` if they are lost; `database_unreadable` when this process may not look,
   * which may pass
   */
  check(): void {
    const found = this.problem ? undefined : this.#files()?.changed();
    if (found !== undefined) this.lose(found);
    if (this.problem) throw this.problem;
  }

  /** Call when the files were found to be lost. */
  lose(found: string): void {
    if (this.problem) return;
    this.problem = ringbackError('database_replaced', { database: this.#file, found });
    this.#onLost(found);
  }
}
