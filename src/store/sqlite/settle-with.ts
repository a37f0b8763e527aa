import { setImmediate as endOfTurn } from 'node:timers/promises';
import { types } from 'node:util';
import type Database from 'better-sqlite3';
import type { UserDatabase } from '../../dispatch/handler.ts';
import { ringbackError } from '../../errors/errors.ts';
import { pause } from '../../kit/clock.ts';
import { isThenable } from '../../kit/values.ts';
import { type ClaimedRun, type Settled, Unconfirmed } from '../claims.ts';
import { type ClaimedWork, claimOnEvent, onlyEndsClaim } from '../shared/claimed-work.ts';
import { runEndRow, runToWrite } from '../shared/run-to-write.ts';
import type { RunEnd } from '../store.ts';
import { isLocked, setPragma } from './connection/connection.ts';
import type { OpenInbox } from './connection/open-inbox.ts';
import type { Session } from './connection/session.ts';
import type { Statements } from './connection/statements.ts';
import { scopedDatabase } from './connection/user-database.ts';
import { beginCounting, rowsWritten, watchWrites, type WrittenRows } from './connection/written-rows.ts';

/** How long to wait for another process's transaction before trying again, in milliseconds. */
export const borrowPause = 20;

/**
 * Writes users' effects and the end of their run in one transaction, on the app's own connection and with the writer's
 * lock. The commit isn't synced here, where a slow disk would block the app's event loop: the writer syncs it.
 */
export async function settleWith(
  session: Session,
  claimed: ClaimedWork,
  run: ClaimedRun,
  end: RunEnd,
  effects: (database: UserDatabase) => unknown,
): Promise<Settled> {
  const write = ({ settling }: Statements, isLast: boolean): Settled => {
    if (!onlyEndsClaim(run, end, isLast))
      return settling.settle(runEndRow(run, end, isLast, session.clock.now()));
    return settling.endClaim(claimOnEvent(run)) ? 'settled' : 'lost';
  };
  const writeBoth = (inbox: OpenInbox, isLast: boolean): Settled => {
    const result = write(inbox.statements, isLast);
    // If the claim is lost, the process that took the run over writes the effects.
    if (result === 'lost') return result;
    if (runInside(inbox, effects)) return result;
    const { settling } = inbox.statements;
    const isSettled = !settling.isUnsettled(runToWrite(run, isLast, session.clock.now()));
    throw ringbackError('transaction_ended', { isCommitted: isSettled });
  };
  const settled = await claimed.detach(run, (isLast) =>
    withLock(session, (inbox) => writeBoth(inbox, isLast)),
  );
  // Resolves when everything committed before is on disk; rejects if the disk refuses.
  const sync = () => session.write('disk', 'sync', []);
  try {
    await sync();
  } catch (error) {
    throw new Unconfirmed(error, sync);
  }
  return settled;
}

/** Thrown to undo a transaction in which nothing has failed. */
const undone = new Error('the transaction is only a rehearsal');

/** Runs users' effects as `settleWith` does, undoes them, and resolves to what they would have written. */
export async function rehearse(
  session: Session,
  effects: (database: UserDatabase) => unknown,
): Promise<readonly WrittenRows[]> {
  const { database } = session.opened();
  // Before the transaction, whose rollback would remove the triggers.
  watchWrites(database);
  let written: readonly WrittenRows[] = [];
  await withLock(session, (inbox): undefined => {
    beginCounting(database);
    // If one of their statements has committed, nothing can be undone.
    if (!runInside(inbox, effects)) throw ringbackError('transaction_ended', { isCommitted: false });
    written = rowsWritten(database);
    throw undone;
  }).catch((thrown: unknown) => {
    if (thrown !== undone) throw thrown;
  });
  return written;
}

/** Runs a transaction with the write lock; waits while another process has locked the database. */
async function withLock<T>(session: Session, operation: (inbox: OpenInbox) => T): Promise<T> {
  for (;;) {
    try {
      return await tryWithLock(session, operation);
    } catch (error) {
      if (error === insideAnother) await outsideOthers(session);
      else if (isLockedOut(error) && !session.isAbandoned) await pause(session.clock, borrowPause);
      else throw error;
    }
  }
}

/**
 * Runs a transaction as soon as the writer grants its lock.
 *
 * @throws Locked if it has not begun and can be tried again; `insideAnother`
 */
function tryWithLock<T>(session: Session, operation: (inbox: OpenInbox) => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  session.requireWriter().borrowLock((isRefused) => {
    try {
      const inbox = session.opened();
      session.files.check();
      if (inbox.database.inTransaction) throw insideAnother;
      // The disk has failed: tried again until it works or the receiver stops, as every write about a run is.
      if (isRefused) throw new Locked('the disk has failed');
      const transaction = () => inTransaction(inbox.database, () => operation(inbox));
      // The lock is borrowed already: within `locked`, the writer also learns of a disk that fails.
      resolve(session.locked(transaction));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

/** Thrown if the lock comes while synchronous code of the app is in a transaction that it began by hand. */
const insideAnother = new Error('the app is in a transaction');

/**
 * Resolves when that code has ended its transaction, or `TransactionWatch` has rolled it back; rejects if the disk
 * refused the rollback: then no write would be on disk.
 */
async function outsideOthers(session: Session): Promise<void> {
  await endOfTurn();
  if (session.opened().database.inTransaction) throw ringbackError('transaction_left_open');
}

/**
 * Runs users' effects. Returns whether they have left the transaction alone: if they have ended it, the savepoint is gone,
 * even if they have begun another.
 */
function runInside(inbox: OpenInbox, effects: (database: UserDatabase) => unknown): boolean {
  const { database } = inbox;
  database.exec('savepoint ringback_effects');
  runScoped(inbox, effects);
  try {
    database.exec('release ringback_effects');
    return true;
  } catch {
    return false;
  }
}

/** Gives users' effects the connection until they return: later writes would not be in the transaction. */
function runScoped(inbox: OpenInbox, effects: (database: UserDatabase) => unknown): void {
  const scoped = scopedDatabase(inbox);
  try {
    const returned = effects(scoped.database);
    if (!isThenable(returned)) return;
    // The function continues without its database, and nobody needs the error that it gets from that.
    void Promise.resolve(returned).catch(() => {});
    throw ringbackError('commit_asynchronous');
  } finally {
    scoped.end();
  }
}

/** The error when another process holds the lock, so that the transaction has not begun. */
class Locked extends Error {}

/** Checks the type first, because users' effects may throw anything, even a proxy that throws when inspected. */
function isLockedOut(thrown: unknown): thrown is Locked {
  return types.isNativeError(thrown) && thrown instanceof Locked;
}

/**
 * Runs a transaction, whose commit is not on disk when this returns. IMMEDIATE, because a transaction that begins with
 * a read may be refused at its first write, if another process writes.
 */
function inTransaction<T>(database: Database.Database, operation: () => T): T {
  let hasBegun = false;
  const begun = () => {
    hasBegun = true;
    return operation();
  };
  // Reset right after the transaction: all other writes through this connection must be on disk when they return.
  setPragma(database, 'synchronous = NORMAL');
  try {
    return database.transaction(begun).immediate();
  } catch (error) {
    // After the transaction has begun, a lock is not this database's, but perhaps that of another database that the
    // user's effects write to: they must not be tried again for ever.
    throw !hasBegun && isLocked(error) ? new Locked('locked', { cause: error }) : error;
  } finally {
    setPragma(database, 'synchronous = FULL');
  }
}
