import { ringbackError } from '../../../errors/errors.ts';
import type { Session } from './session.ts';
import { oneRow } from './transaction.ts';

/** In Postgres, the second is another name of the first. */
const suitable = new Set(['read committed', 'read uncommitted']);

/** Whether statements by themselves see what others have committed before they look: after a wait for a lock, they must. */
export function isSuitable(isolation: string): boolean {
  return suitable.has(isolation);
}

/**
 * Refuses a database in which statements by themselves run in another isolation than all of them are written for. A transaction
 * could begin in the right one, but for a statement by itself that would cost a round trip, and no setting of a connection
 * holds behind a pooler: so the default must be right.
 *
 * @throws RingbackError `database_isolation`
 */
export async function requireReadCommitted(session: Session): Promise<void> {
  const { isolation } = await oneRow<{ isolation: string }>(
    session,
    "select current_setting('transaction_isolation') as isolation",
  );
  if (!isSuitable(isolation))
    throw ringbackError('database_isolation', { database: session.name, found: isolation });
}
