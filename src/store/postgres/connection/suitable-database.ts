import { ringbackError } from '../../../errors/errors.ts';
import type { Session } from './session.ts';
import { oneRow } from './transaction.ts';

/** In Postgres, the second is another name of the first. */
const suitableIsolations = new Set(['read committed', 'read uncommitted']);

/** Whether statements by themselves see what others have committed before they look: after a wait for a lock, they must. */
export function isSuitable(isolation: string): boolean {
  return suitableIsolations.has(isolation);
}

/**
 * Whether a database can keep whatever an event says. In another encoding than this, it refuses a delivery with a character that
 * it doesn't have, and each further attempt of the platform. SQL_ASCII takes every byte, but can't tell characters, which the view
 * `calls` needs.
 */
export function keepsAllTexts(encoding: string): boolean {
  return encoding === 'UTF8';
}

/**
 * Refuses a database in which deliveries would be lost or handled twice. Statements by themselves must not run in another isolation
 * than all of them are written for. A transaction could begin in the right one, but for a statement by itself that would cost a
 * round trip, and no setting of a connection holds behind a pooler: so the default must be right.
 *
 * @throws RingbackError `database_isolation` or `database_encoding`
 */
export async function requireSuitable(session: Session): Promise<void> {
  const { isolation, encoding } = await oneRow<{ isolation: string; encoding: string }>(
    session,
    "select current_setting('transaction_isolation') as isolation, current_setting('server_encoding') as encoding",
  );
  const database = session.name;
  if (!isSuitable(isolation)) throw ringbackError('database_isolation', { database, found: isolation });
  if (!keepsAllTexts(encoding)) throw ringbackError('database_encoding', { database, found: encoding });
}
