import type Database from 'better-sqlite3';
import { locationOf } from '../../../kit/error-location.ts';

/** How many frames of the stack are searched for the user's own: more than Ringback's part of it. */
const stackDepth = 50;

/**
 * Rolls back transactions that users begin by hand and leave open. Beyond the synchronous code that began it, an open
 * transaction would keep every process from writing, and Ringback's own writes on this connection would not be on disk.
 */
export class TransactionWatch {
  readonly #database: Database.Database;
  readonly #onLeftOpen: (location: string | undefined) => void;
  #location: string | undefined;
  #isScheduled = false;

  /** `onLeftOpen` gets the location in the user's files that began the transaction. */
  constructor(database: Database.Database, onLeftOpen: (location: string | undefined) => void) {
    this.#database = database;
    this.#onLeftOpen = onLeftOpen;
  }

  /** Runs a user's statement, and checks whether it has begun a transaction. */
  run<T>(statement: () => T): T {
    const wasInside = this.#database.inTransaction;
    try {
      return statement();
    } finally {
      if (!wasInside && this.#database.inTransaction) this.#begun();
    }
  }

  #begun(): void {
    this.#location = callersLocation();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the user's synchronous code, and before anything else can run: a transaction across an await would include
    // what others write meanwhile.
    queueMicrotask(() => this.#end());
  }

  #end(): void {
    this.#isScheduled = false;
    if (!this.#database.open || !this.#database.inTransaction) return;
    try {
      this.#database.exec('rollback');
    } catch {
      // The disk refuses. `settleWith` then refuses to write inside this transaction.
    }
    this.#onLeftOpen(this.#location);
  }
}

function callersLocation(): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = stackDepth;
  try {
    return locationOf(new Error('a transaction was begun'));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
