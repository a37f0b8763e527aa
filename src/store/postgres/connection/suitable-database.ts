import { ringbackError } from '../../../errors/errors.ts';
import type { Session } from './session.ts';
import { oneRow } from './transaction.ts';

/** The oldest version that Ringback runs on. */
export const oldestVersion = 15;

/** Whether Ringback runs on a version, given as in `server_version_num`. */
export function isRecentEnough(version: number): boolean {
  return version >= oldestVersion * 10_000;
}

/** In Postgres, the second is another name of the first. */
const suitableIsolations = new Set(['read committed', 'read uncommitted']);

/** Whether each statement sees what others have committed before it: after waiting for a lock, it must. */
export function isSuitable(isolation: string): boolean {
  return suitableIsolations.has(isolation);
}

/**
 * Whether a database can keep any text. With another encoding than UTF8, it would refuse a delivery with a character
 * that it lacks, each time the platform sends it. SQL_ASCII takes every byte, but knows no characters, which the view
 * `calls` needs.
 */
export function keepsAllTexts(encoding: string): boolean {
  return encoding === 'UTF8';
}

interface Settings {
  readonly version: number;
  readonly readableVersion: string;
  readonly isolation: string;
  readonly encoding: string;
}

/**
 * Refuses a database in which deliveries would be lost or handled twice. Its default isolation must be right: setting
 * it for single statements would cost each a round trip, and behind a pooler no setting of a connection holds.
 *
 * @throws RingbackError `database_version`, `database_isolation` or `database_encoding`
 */
export async function requireSuitable(session: Session): Promise<void> {
  const { version, readableVersion, isolation, encoding } = await oneRow<Settings>(
    session,
    `select current_setting('server_version_num')::integer as version, current_setting('server_version') as "readableVersion",
      current_setting('transaction_isolation') as isolation, current_setting('server_encoding') as encoding`,
  );
  const database = session.name;
  if (!isRecentEnough(version))
    throw ringbackError('database_version', { database, oldest: oldestVersion, found: readableVersion });
  if (!isSuitable(isolation)) throw ringbackError('database_isolation', { database, found: isolation });
  if (!keepsAllTexts(encoding)) throw ringbackError('database_encoding', { database, found: encoding });
}
