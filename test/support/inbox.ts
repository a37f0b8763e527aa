/**
 * Where the inboxes of tests are. Tests about what becomes of events run twice: on SQLite, and once more in the project
 * "on Postgres", on a schema of the tests' server instead of each database.
 */
import Database from 'better-sqlite3';
import { inject } from 'vitest';
import { storeOf } from '../../src/receiver/database.ts';
import { postgresForTests, skipTest } from './postgres.ts';
import { PostgresInboxes } from './postgres-inboxes.ts';
import type { Clock, ReceiverOptions, Store, StoreFactory } from './public.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the inboxes of this project are. */
    readonly inboxes: 'on SQLite' | 'on Postgres';
  }
}

/** For tests that look into SQLite's tables or files, or into the time that its writer takes: `test.skipIf(isOnPostgres)`. */
export const isOnPostgres = inject('inboxes') === 'on Postgres';
const server = isOnPostgres ? await postgresForTests() : undefined;
const inboxes = server && 'connectionString' in server ? new PostgresInboxes(server) : undefined;

/** The inbox for a database of the test that runs: receivers of one file share it, and each `:memory:` is another. */
export function inboxOf<Given extends ReceiverOptions['database']>(database: Given): Given | StoreFactory {
  if (typeof database !== 'string' || !server) return database;
  return inboxes ? inboxes.inboxOf(database) : skipTest('There is no Postgres server.');
}

/** What a receiver in another process takes as its `database` to share such an inbox. */
export function placeOf(database: string): string {
  if (!server) return database;
  return inboxes ? inboxes.urlOf(database) : skipTest('There is no Postgres server.');
}

/** The store of such an inbox. */
export function storeIn(database: string, clock: Clock): Store {
  return storeOf(inboxOf(database), clock);
}

/** What a statement returns that another connection to an inbox makes. The tables have the same names in both stores. */
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
