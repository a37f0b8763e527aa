import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { configError, ringbackError } from '../../errors/errors.ts';
import { systemClock } from '../../kit/clock.ts';
import { databaseName, storeOf } from '../../receiver/database.ts';
import { type Receiver, createReceiver, internalsOf } from '../../receiver/receiver.ts';
import { holdsInbox } from '../../store/postgres/connection/examination.ts';
import { readTarget } from '../../store/postgres/connection/target.ts';
import { whyNoInbox } from '../../store/sqlite/connection/examination.ts';
import type { Store } from '../../store/store.ts';
import { type DatabaseFlag, type Environment, databaseOf, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';

/**
 * The database of an existing inbox. Refuses any other database: opening it would create an empty inbox, beside the
 * intended one or among the tables of another program.
 *
 * @throws RingbackError `database_unreadable`, `database_unreachable`, `database_full`, `inbox_missing`
 */
export async function existingInbox(
  flags: DatabaseFlag,
  environment: Environment = asUsage(readEnvironment),
): Promise<string> {
  const database = asUsage(() => databaseOf(flags, environment));
  await requireInbox(database);
  return database;
}

/** Refuses all but an existing inbox in SQLite. `fix` says what to do with one in Postgres. */
export function requireSqlite(database: string, option: string, fix: string): void {
  asUsage(() => {
    if (readTarget(database) === undefined) return;
    const expected = 'the file of an inbox in SQLite';
    throw configError('option_invalid', { option, expected, found: 'a URL', fix });
  });
  requireFile(database);
}

export async function requireInbox(database: string): Promise<void> {
  const target = readTarget(database);
  if (target === undefined) return requireFile(database);
  if (await holdsInbox(target, systemClock)) return;
  throw ringbackError('inbox_missing', { database: databaseName(database) });
}

/** Whether a database holds an inbox. Creates nothing in it. */
export async function isExistingInbox(database: string): Promise<boolean> {
  const target = readTarget(database);
  if (target) return holdsInbox(target, systemClock);
  return whyNoInbox(database) === undefined;
}

function requireFile(file: string): void {
  const problem = whyNoInbox(file);
  if (problem === undefined) return;
  const {
    cause,
    fix = "Check the path and its permissions, or set --database to the receiver's file or URL.",
  } = problem;
  throw ringbackError('database_unreadable', { database: file, cause, fix });
}

/** Opens an inbox without a receiver: no handler runs, and retention removes nothing. */
export async function withInbox<T>(database: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = storeOf(database, systemClock);
  try {
    await store.open();
    return await work(store);
  } finally {
    await store.close();
  }
}

/** So that everything can be shown that a receiver with other limits has accepted. */
const unlimited = Number.MAX_SAFE_INTEGER;

/**
 * Opens an existing inbox with a receiver that needs neither handlers nor secrets: it takes no deliveries, claims
 * nothing and removes nothing.
 */
export async function withReceiver<T>(
  flags: DatabaseFlag,
  work: (receiver: Receiver, database: string) => Promise<T>,
): Promise<T> {
  const database = await existingInbox(flags);
  const receiver = createReceiver({
    database,
    // A receiver must have a way to authenticate deliveries, although none comes here.
    headers: { 'x-ringback-inbox': randomUUID() },
    limits: { values: unlimited, fields: unlimited, depth: unlimited },
    logger: pino({ level: 'silent' }),
  });
  return withOpened(receiver, () => work(receiver, database));
}

/** Opens the inbox of a receiver without starting it: it continues no replay or dismissal that would end with the command. */
export async function withOpened<T>(receiver: Receiver, work: () => Promise<T>): Promise<T> {
  await internalsOf(receiver).lifecycle.openInbox();
  try {
    return await work();
  } finally {
    await receiver.stop();
  }
}
