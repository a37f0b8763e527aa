import { isMainThread } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import type { StoreNotice } from '../../store.ts';
import { prepareLookThrough } from '../dedupe/eras.ts';
import { ownIdentity } from '../work/process-identity.ts';
import { type OwnProcess, Processes } from '../work/processes.ts';
import { openDatabase } from './connection.ts';
import { DatabaseFiles } from './database-files.ts';
import { TransactionWatch } from './transaction-watch.ts';
import { UserStatements } from './user-statements.ts';
import { type Statements, prepareStatements } from './statements.ts';

/** The app's own connection: it reads, and lends itself to what users write. */
export interface OpenInbox {
  readonly database: Database.Database;
  /** Undefined for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  readonly process: OwnProcess;
  readonly statements: Statements;
  readonly userStatements: UserStatements;
  readonly transactionWatch: TransactionWatch;
}

/** Opens the database, brings its schema up to date, and prepares its statements. */
export function openInbox(file: string, report: (notice: StoreNotice) => void): OpenInbox {
  const database = openDatabase(file);
  const files = database.memory ? undefined : new DatabaseFiles(database, file);
  const process = { identity: ownIdentity(), marks: files?.marks(), closesOnlyByItself: isMainThread };
  return {
    database,
    files,
    process,
    statements: prepareStatements(database, new Processes(database, process), prepareLookThrough(database)),
    userStatements: new UserStatements(database),
    transactionWatch: new TransactionWatch(database, (place) =>
      report({ kind: 'transaction_left_open', place }),
    ),
  };
}
