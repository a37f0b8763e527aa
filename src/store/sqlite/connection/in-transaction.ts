import { types } from 'node:util';
import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import { isLocked } from './connection.ts';
import { setPragma } from './pragma.ts';

/** Another process holds the lock, and nothing of the transaction has been begun. */
export class Locked extends Error {}

/** A user's effects may throw anything, even a proxy that throws when its prototype is asked for. */
export function isLockedOut(thrown: unknown): thrown is Locked {
  return types.isNativeError(thrown) && thrown instanceof Locked;
}

/**
 * Runs a transaction. It is IMMEDIATE, because one that begins by reading and then wants to write can be refused in
 * the middle by another process; one that asks for the lock first can not.
 */
export function inTransaction<T>(
  database: Database.Database,
  operation: () => T,
  { syncs }: { readonly syncs: boolean },
): T {
  // Inside a transaction that a user began and left open, nothing would be on disk when it is acknowledged.
  if (database.inTransaction) throw ringbackError('transaction_left_open');
  let hasBegun = false;
  const begun = () => {
    hasBegun = true;
    return operation();
  };
  // Reset right after the transaction: whatever else is written through this connection must be on disk when it
  // returns.
  if (!syncs) setPragma(database, 'synchronous = NORMAL');
  try {
    return database.transaction(begun).immediate();
  } catch (error) {
    // Once the transaction has begun, the lock is not this database's: a user's effects may have met the lock of
    // another database of theirs, and must not be tried again for ever.
    throw !hasBegun && isLocked(error) ? new Locked('locked', { cause: error }) : error;
  } finally {
    if (!syncs) setPragma(database, 'synchronous = FULL');
  }
}
