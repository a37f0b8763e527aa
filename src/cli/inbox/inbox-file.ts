import { existsSync } from 'node:fs';
import { ringbackError } from '../../errors/errors.ts';
import { systemClock } from '../../kit/clock.ts';
import { whyNoInbox } from '../../store/sqlite/connection/why-no-inbox.ts';
import { SqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { type Environment, databaseOf, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';

/**
 * The file of an existing inbox. Refuses any other file, since opening it would create an empty inbox: beside the one
 * that was meant, or among the tables of another program.
 *
 * @throws RingbackError `database_unreadable`
 */
export function inboxFile(
  flags: { readonly database?: string },
  environment: Environment = asUsage(readEnvironment),
): string {
  const file = databaseOf(flags, environment);
  const cause = existsSync(file) ? whyNoInbox(file) : 'there is no such file';
  if (cause === undefined) return file;
  throw ringbackError('database_unreadable', {
    database: file,
    cause,
    fix: "Check the path and its permissions, or set --database to the receiver's file.",
  });
}

/** Opens an inbox for the work, without a receiver: no handler runs, and retention removes nothing. */
export async function withInbox<T>(file: string, work: (store: SqliteStore) => Promise<T>): Promise<T> {
  const store = new SqliteStore(file, systemClock);
  await store.open();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
