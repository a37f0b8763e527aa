import Database from 'better-sqlite3';
import { requireNodeApi } from '../../../errors/errors.ts';
import { prepareNotedWal } from '../work/noted-wal.ts';
import { DatabaseFiles, refuseOtherName } from './database-files.ts';
import { isInbox } from './foreign-database.ts';
import { schemaVersion, versionOf } from './migrations/migrate.ts';

/**
 * Marks all processes of an inbox as dead if nobody has its file open, in whatever container: then what they held need
 * not wait until they have missed their heartbeats. Call it before this process opens the file itself.
 *
 * SQLite shows that. A connection in WAL mode keeps a shared lock on the file for as long as it is open, even while its
 * process is suspended, and the kernel releases it when the process ends, however it ends. In exclusive locking mode, a
 * connection begins with an exclusive lock, so it is refused while there is any other. Only a file that is not in WAL
 * mode has no such locks, such as a copy that nobody has opened yet: no process of an inbox has it open.
 */
export function markDeadProcesses(file: string): void {
  requireNodeApi();
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { fileMustExist: true, timeout: 0 });
    database.pragma('locking_mode = EXCLUSIVE');
    if (isInbox(database)) mark(database, file);
  } catch {
    // Somebody has it open, so dead processes will miss their heartbeats. Or there is no file, or it must not be
    // written: the opening that follows says so.
  } finally {
    // As the last one to close the file, it also checkpoints the WAL and removes it.
    database?.close();
  }
}

function mark(database: Database.Database, file: string): void {
  database.exec('begin immediate');
  // One of a newer version is refused, and left as it is.
  if (versionOf(database) > schemaVersion) return;
  const notedWal = prepareNotedWal(database);
  // A WAL that is missing is still to be reported. The present one is removed with this connection.
  if (notedWal.isMissing(new DatabaseFiles(database, file).marks())) refuseOtherName(file);
  else notedWal.forget();
  database.exec('update processes set is_dead = 1');
  database.exec('commit');
}
