import { isMainThread } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import type { StoreNotice } from '../../store.ts';
import { prepareLookThrough } from '../dedupe/eras.ts';
import { ownIdentity } from '../work/process-identity.ts';
import { type OwnProcess, Processes } from '../work/processes.ts';
import { openDatabase, toProblem } from './connection.ts';
import { DatabaseFiles, refuseOtherName } from './database-files.ts';
import { TransactionWatch } from './transaction-watch.ts';
import { UserStatements } from './user-statements.ts';
import { type Statements, prepareStatements } from './statements.ts';

/** The app's own connection, for reads and for users' writes. */
export interface OpenInbox {
  readonly database: Database.Database;
  /** Undefined for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  readonly process: OwnProcess;
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
  const process = { identity: ownIdentity(), marks: files?.marks(), closesOnlyByItself: isMainThread };
  const statements = statementsOf(database, process);
  // Before this process enters: what it writes to the file would conflict with the WAL beside the other name.
  if (statements.processes.isWalMissing()) refuseOtherName(file);
  return {
    database,
    files,
    process,
    statements,
    userStatements: new UserStatements(database),
    transactionWatch: new TransactionWatch(database, (place) =>
      report({ kind: 'transaction_left_open', place }),
    ),
  };
}

/** The statements of the app's connection. Preparing them changes nothing, and fails if tables were changed. */
export function statementsOf(database: Database.Database, process: OwnProcess): Statements {
  return prepareStatements(database, new Processes(database, process), prepareLookThrough(database));
}
