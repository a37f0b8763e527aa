import type { UserDatabase } from '../../dispatch/handler.ts';
import { ringbackError } from '../../errors/errors.ts';
import { isThenable } from '../../kit/values.ts';
import type { ClaimedRun, Settled } from '../claims.ts';
import { claimerOf, endsOrdinarily } from '../shared/claimed-work.ts';
import { runEndRow } from '../shared/run-to-write.ts';
import type { RunEnd } from '../store.ts';
import { Locked, inTransaction, isLockedOut } from './connection/in-transaction.ts';
import type { OpenInbox } from './connection/open-inbox.ts';
import type { Session } from './connection/session.ts';
import type { Statements } from './connection/statements.ts';
import { scopedDatabase } from './connection/user-database.ts';
import { beginCounting, rowsWritten, watchWrites, type WrittenRows } from './connection/written-rows.ts';

/** How long to wait for another process's transaction before trying again, in milliseconds. */
export const borrowPause = 20;

/**
 * Writes users' effects and the end of their run in one transaction, on the app's own connection and with the writer's
 * lock. The commit isn't synced here, where a slow disk would block the app's event loop: the caller has the writer
 * sync it.
 */
export function settleWith(
  session: Session,
  run: ClaimedRun,
  end: RunEnd,
  isLast: boolean,
  effects: (database: UserDatabase) => unknown,
): Promise<Settled> {
  const write = ({ settling }: Statements): Settled => {
    if (endsOrdinarily(run, end, isLast))
      return settling.endClaim({ sequence: run.sequence, process: claimerOf(run) }) ? 'settled' : 'lost';
    return settling.settle(runEndRow(run, end, isLast, session.clock.now()));
  };
  return withLock(session, (inbox) => {
    const result = write(inbox.statements);
    // If the claim is lost, the process that took the run over writes the effects.
    if (result === 'settled') runScoped(inbox, effects);
    return result;
  });
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
    runScoped(inbox, effects);
    // If one of their statements has committed, nothing can be undone.
    if (!database.inTransaction) throw ringbackError('transaction_ended', { isCommitted: false });
    written = rowsWritten(database);
    throw undone;
  }).catch((thrown: unknown) => {
    if (thrown !== undone) throw thrown;
  });
  return written;
}

/** Runs a transaction with the write lock; waits while another process has locked the database. */
function withLock<T>(session: Session, operation: (inbox: OpenInbox) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const attempt = (isRefused: boolean): void => {
      try {
        const inbox = session.opened();
        session.files.check();
        // The disk has failed: tried again until it works or the receiver stops, as every write about a run is.
        if (isRefused) throw new Locked('the disk has failed');
        const transaction = () => inTransaction(inbox.database, () => operation(inbox), { syncs: false });
        // The lock is borrowed already: within `locked`, the writer also learns of a disk that fails.
        resolve(session.locked(transaction));
      } catch (error) {
        if (!isLockedOut(error) || session.isAbandoned) return reject(error);
        session.clock.after(borrowPause, borrow);
      }
    };
    // Throws if the database was replaced meanwhile; thrown in a timer, that would end the process.
    const borrow = (): void => {
      try {
        session.requireWriter().borrowLock(attempt);
      } catch (error) {
        reject(error);
      }
    };
    borrow();
  });
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
