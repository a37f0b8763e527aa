import type { UserDatabase } from '../../dispatch/handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Settled } from '../run-key.ts';
import type { Settlement } from '../store.ts';
import { Unconfirmed } from '../unconfirmed.ts';
import { inTransaction, isLockedOut } from './connection/in-transaction.ts';
import type { OpenInbox } from './connection/open-inbox.ts';
import type { Session } from './connection/session.ts';
import { scopedDatabase } from './connection/user-database.ts';
import { settlementRow } from './work/settle.ts';

/** How long to let another process finish its transaction before trying again, in milliseconds. */
const lockedPause = 20;

/**
 * Writes users' effects and a settlement in one transaction, on the app's own connection and with the writer's lock. The
 * writer then syncs it: on a slow disk, the app's event loop would otherwise block for each commit.
 */
export async function settleWith(
  session: Session,
  clock: Clock,
  settlement: Settlement,
  effects: (database: UserDatabase) => unknown,
): Promise<Settled> {
  const { writer } = session;
  const settled = await withLock(session, clock, (inbox) => {
    const result = inbox.verbs.settling.settle(settlementRow(settlement, clock.now()));
    // The claim is no longer ours: the process that took the run over writes the effects, not this one.
    if (result === 'settled') runScoped(inbox, effects);
    return result;
  });
  try {
    await writer.sync();
  } catch (error) {
    throw new Unconfirmed(error, () => session.writer.sync());
  }
  return settled;
}

/** Runs a transaction with the lock; waits while another process has locked the database. */
function withLock<T>(session: Session, clock: Clock, operation: (inbox: OpenInbox) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      try {
        const inbox = session.opened();
        session.files.check();
        resolve(inTransaction(inbox.database, () => operation(inbox), { syncs: false }));
      } catch (error) {
        if (!isLockedOut(error) || session.isAbandoned) return reject(error);
        clock.after(lockedPause, () => session.writer.borrowLock(attempt));
      }
    };
    session.writer.borrowLock(attempt);
  });
}

/** Lends the connection to users' effects until they return. */
function runScoped(inbox: OpenInbox, effects: (database: UserDatabase) => unknown): void {
  const scoped = scopedDatabase(inbox);
  try {
    effects(scoped.database);
  } finally {
    scoped.end();
  }
}
