import { types } from 'node:util';
import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import { isLocked } from './connection.ts';
import { setPragma } from './pragma.ts';

/** The error when another process holds the lock, so that the transaction has not begun. */
export class Locked extends Error {}

/** Checks the type first, because users' effects may throw anything, even a proxy that throws when inspected. */
export function isLockedOut(thrown: unknown): thrown is Locked {
  return types.isNativeError(thrown) && thrown instanceof Locked;
}

/**
 * Runs a transaction. IMMEDIATE, because a transaction that begins with a read may be refused at its first write, if
 * another process writes. `syncs`: whether the commit is on disk when this returns.
 */
export function inTransaction<T>(
  database: Database.Database,
  operation: () => T,
  { syncs }: { readonly syncs: boolean },
): T {
  // Inside a transaction that a user left open, nothing would be on disk when it is acknowledged.
  if (database.inTransaction) throw ringbackError('transaction_left_open');
  let hasBegun = false;
  const begun = () => {
    hasBegun = true;
    return operation();
  };
  // Reset right after the transaction: all other writes through this connection must be on disk when they return.
  if (!syncs) setPragma(database, 'synchronous = NORMAL');
  try {
    return database.transaction(begun).immediate();
  } catch (error) {
    // After the transaction has begun, a lock is not this database's, but perhaps that of another database that the
    // user's effects write to: they must not be tried again for ever.
    throw !hasBegun && isLocked(error) ? new Locked('locked', { cause: error }) : error;
  } finally {
    if (!syncs) setPragma(database, 'synchronous = FULL');
  }
}
