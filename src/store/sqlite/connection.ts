import Database from 'better-sqlite3';
import { RingbackError, messageOf, ringbackError } from '../../errors.ts';
import { migrate } from './migrations.ts';

/** The Node-API version that the database driver is built for. */
const neededNodeApi = 10;
/** How long opening waits for another process that is opening the same file, in milliseconds. */
const openPatience = 5_000;

/** Opens the file, or says in a sentence why it can't. */
export function openDatabase(file: string): Database.Database {
  refuseOldNode();
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { timeout: openPatience });
    database.pragma('journal_mode = WAL');
    // FULL: a commit is on disk before it is acknowledged, whatever happens to the machine's power.
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    migrate(database, file);
    // From here on a locked database is waited for off the event loop, in the commit group.
    database.pragma('busy_timeout = 0');
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof RingbackError) throw error;
    throw ringbackError('database_unreadable', { database: file, cause: messageOf(error) });
  }
}

/** On an older Node the driver would end the process without a word. */
function refuseOldNode(): void {
  if (Number(process.versions['napi'] ?? 0) < neededNodeApi) {
    throw ringbackError('node_too_old', { found: process.versions.node });
  }
}
