import { isMainThread } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import type { StoreNotice } from '../../store.ts';
import { openDatabase, toProblem } from './connection.ts';
import { DatabaseFiles, type FileMarks, refuseOtherIndex, refuseOtherName } from './database-files.ts';
import { markDeadProcesses } from './mark-dead.ts';
import { TransactionWatch } from './transaction-watch.ts';
import { UserStatements } from './user-database.ts';
import { type Statements, prepareStatements } from './statements.ts';

/** The app's own connection, for reads and for users' writes. */
export interface OpenInbox {
  readonly database: Database.Database;
  /** Undefined for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  /**
   * The WAL to note. Undefined in a worker thread: when that is terminated, the driver closes the database and removes
   * its WAL, although the process has not left.
   */
  readonly wal: FileMarks | undefined;
  readonly isWalMissing: boolean;
  readonly statements: Statements;
  readonly userStatements: UserStatements;
  readonly transactionWatch: TransactionWatch;
}

/**
 * Opens the database, brings its schema up to date, and prepares its statements.
 *
 * @throws RingbackError that says why it can't be opened, or isn't an inbox of this version
 */
export function openInbox(file: string, report: (notice: StoreNotice) => void): OpenInbox {
  if (file !== ':memory:') markDeadProcesses(file);
  const database = openDatabase(file);
  try {
    return preparedInbox(database, file, report);
  } catch (error) {
    database.close();
    throw toProblem(error, file);
  }
}

function preparedInbox(
  database: Database.Database,
  file: string,
  report: (notice: StoreNotice) => void,
): OpenInbox {
  const files = database.memory ? undefined : new DatabaseFiles(database, file);
  const marks = files?.marks();
  const statements = prepareStatements(database);
  const isWalMissing = marks !== undefined && statements.notedWal.isMissing(marks);
  // Before this process enters: what it writes to the file would conflict with the WAL beside the other name.
  if (isWalMissing) refuseOtherName(file);
  if (marks !== undefined && statements.notedWal.hasOtherIndex(marks)) refuseOtherIndex(file);
  return {
    database,
    files,
    wal: isMainThread ? marks : undefined,
    isWalMissing,
    statements,
    userStatements: new UserStatements(database),
    transactionWatch: new TransactionWatch(database, (location) =>
      report({ kind: 'transaction_left_open', location }),
    ),
  };
}
