/** Chooses the store of an inbox by the option `database`. */
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../kit/clock.ts';
import { targetName, readTarget, wrongTarget } from '../store/postgres/connection/target.ts';
import { PostgresStore } from '../store/postgres/postgres-store.ts';
import { SqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Store, StoreFactory } from '../store/store.ts';

/** What the option `database` may be. */
export type Database = string | StoreFactory | Store;

/** URLs and connection strings of libpq. Taken for a file name, one would be logged with its password. */
const noFile = /^\w[\w+.-]*:\/\/|^postgres(ql)?:|\bpassword=/i;

export function isDatabaseName(text: string): boolean {
  return readTarget(text) !== undefined || (text !== '' && !noFile.test(text));
}

/** What is wrong with a text that names no database. */
export const wrongDatabase = wrongTarget;

/** Whether another process can open the same inbox. */
export function isSharable(database: Database): boolean {
  return typeof database === 'string' ? database !== ':memory:' : 'createStore' in database;
}

/**
 * Finds out how much room the disk of a database has, in bytes; undefined if the database is not a file. A relative
 * path is resolved against the current folder at the time of this call.
 */
export function freeDiskOf(database: Database): () => Promise<number | undefined> {
  if (typeof database !== 'string' || database === ':memory:' || readTarget(database))
    return () => Promise.resolve(undefined);
  const folder = dirname(resolve(database));
  return () =>
    statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => undefined,
    );
}

/** The name of the database in messages: a file as it was given, a URL without its credentials. */
export function databaseName(database: string): string {
  const target = readTarget(database);
  if (target) return targetName(target);
  return noFile.test(database) ? 'a URL' : database;
}

/** The store of a database. Opens nothing. */
export function storeOf(database: Database, clock: Clock): Store {
  if (typeof database !== 'string') return 'createStore' in database ? database.createStore(clock) : database;
  const target = readTarget(database);
  if (target === undefined) return new SqliteStore(database, clock);
  // The type of what it passes to `ctx.commit` matters only to the user, who wrote the URL.
  return new PostgresStore(target, clock) as unknown as Store;
}
