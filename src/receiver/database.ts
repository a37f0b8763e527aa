/** Which store keeps an inbox: it follows from what is given as `database`. */
import type { Clock } from '../kit/clock.ts';
import { placeName, readPlace } from '../store/postgres/connection/place.ts';
import { PostgresStore } from '../store/postgres/postgres-store.ts';
import { SqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Store, StoreFactory } from '../store/store.ts';

/** What the option `database` may be. */
export type Database = string | StoreFactory | Store;

const urlOfPostgres = /^postgres(ql)?:\/\//i;

/** Whether a text names a database. Any other URL, and what libpq takes, would be a file of that name, in the log with its password. */
export function isDatabaseName(text: string): boolean {
  if (isPostgres(text)) return readPlace(text) !== undefined;
  return text !== '' && !/^\w[\w+.-]*:\/\/|^postgres(ql)?:|\bpassword=/i.test(text);
}

/** Whether the text is a URL of Postgres. */
export function isPostgres(text: string): boolean {
  return urlOfPostgres.test(text);
}

/** Whether another process can open the same inbox. */
export function isSharable(database: Database): boolean {
  return typeof database === 'string' ? database !== ':memory:' : 'createStore' in database;
}

/** The database in a sentence for a person: a file as it was given, a URL without its credentials. */
export function databaseName(database: string): string {
  if (!isPostgres(database)) return database;
  const place = readPlace(database);
  return place === undefined ? 'a postgres:// URL' : placeName(place);
}

/** The store of a database. Opens nothing. */
export function storeOf(database: Database, clock: Clock): Store {
  if (typeof database !== 'string') return 'createStore' in database ? database.createStore(clock) : database;
  const place = isPostgres(database) ? readPlace(database) : undefined;
  if (place === undefined) return new SqliteStore(database, clock);
  // What it lends to `ctx.commit` is known to whoever wrote the URL; to the receiver it is opaque.
  return new PostgresStore(place, clock) as unknown as Store;
}
