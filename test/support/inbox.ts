/**
 * Where the inboxes of tests are. Tests about the handling of events run twice: on SQLite, and in the project "on
 * Postgres", where a schema of the tests' server replaces each database.
 */
import Database from 'better-sqlite3';
import { inject } from 'vitest';
import { storeOf } from '../../src/receiver/database.ts';
import { ManualClock } from './clock.ts';
import { postgresForTests, skipTest } from './postgres.ts';
import { PostgresInboxes } from './postgres-inboxes.ts';
import type { Clock, ReceiverOptions, Store, StoreFactory } from './public.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the inboxes of this project are. */
    readonly inboxes: 'on SQLite' | 'on Postgres';
  }
}

/** For tests about SQLite's tables, files or writer: `test.skipIf(isOnPostgres)`. */
export const isOnPostgres = inject('inboxes') === 'on Postgres';
const server = isOnPostgres ? await postgresForTests() : undefined;
const inboxes = server && 'connectionString' in server ? new PostgresInboxes(server) : undefined;

/** The inbox for a database of the running test: receivers on the same file share it, and each `:memory:` is a new one. */
export function inboxOf<Given extends ReceiverOptions['database']>(database: Given): Given | StoreFactory {
  if (typeof database !== 'string' || !server) return database;
  return inboxes ? inboxes.inboxOf(database) : skipTest('There is no Postgres server.');
}

/** The `database` option with which a receiver in another process shares such an inbox. */
export function placeOf(database: string): string {
  if (!server) return database;
  return inboxes ? inboxes.urlOf(database) : skipTest('There is no Postgres server.');
}

/** The store of such an inbox. */
export function storeIn(database: string, clock: Clock): Store {
  return storeOf(inboxOf(database), clock);
}

/** Does something with the store of such an inbox, as another process would: it is closed at the end. */
export async function withStore<Result>(
  database: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  // Time stands still: on a busy machine, one of many writes may take longer than a sender waits.
  const store = storeIn(database, new ManualClock());
  await store.open();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Runs a statement over another connection to an inbox. The tables have the same names in both stores. */
export async function rowsIn(database: string, statement: string): Promise<unknown[]> {
  if (inboxes) return inboxes.ask(database, statement);
  const connection = new Database(database);
  try {
    const prepared = connection.prepare(statement);
    return prepared.reader ? prepared.all() : [prepared.run()];
  } finally {
    connection.close();
  }
}
