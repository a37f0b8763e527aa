import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import type { InboxDatabase, UserDatabase, UserStatement } from '../../../dispatch/handler.ts';
import { setPragma } from './connection.ts';
import type { TransactionWatch } from './transaction-watch.ts';

/**
 * The connection for users, usable until `end` is called: an asynchronous function, which continues although it was
 * refused, would otherwise write outside of any transaction.
 */
export function scopedDatabase(connection: UserConnection): {
  readonly database: UserDatabase;
  readonly end: () => void;
} {
  let isOver = false;
  const guard = () => {
    if (isOver) throw ringbackError('commit_ended');
  };
  return {
    database: userDatabase(connection, guard),
    end: () => {
      isOver = true;
    },
  };
}

/** The connection that users share with the inbox. */
interface UserConnection {
  readonly database: Database.Database;
  readonly userStatements: UserStatements;
  readonly transactionWatch: TransactionWatch;
}

/** How long users' own writes wait for a locked database, in milliseconds. */
const usersTimeout = 1_000;

/** Access to users' own tables outside of `ctx.commit`. */
interface UserAccess {
  /** Returns the connection, or throws if it may not be used. */
  readonly opened: () => UserConnection;
  /** Runs work that may write, with the write lock. */
  readonly locked: Locked;
  /** Throws unless the database's files are in place. */
  readonly requireFiles: () => void;
  /** Whether the writer has been started: before that, the connection has the busy timeout of its opening. */
  readonly isStarted: () => boolean;
}

/** The connection for users' own tables. */
export function inboxDatabase({ opened, locked, requireFiles, isStarted }: UserAccess): InboxDatabase {
  const guard = () => void opened();
  /**
   * Runs a write. It is synchronous, so it blocks the event loop while it waits for another process or receiver that has
   * locked the database. It throws if the files are not in place: it must not be taken for done.
   */
  const write: Locked = (work) =>
    locked(() => {
      const { database } = opened();
      const isShort = isStarted();
      if (isShort) setPragma(database, `busy_timeout = ${usersTimeout}`);
      try {
        requireFiles();
        const result = work();
        requireFiles();
        return result;
      } finally {
        if (isShort && database.open) setPragma(database, 'busy_timeout = 0');
      }
    });
  return {
    prepare: (sql) => userDatabase(opened(), guard, write).prepare(sql),
    exec: (sql) => userDatabase(opened(), guard, write).exec(sql),
    transaction: (work) => write(() => opened().database.transaction(work).immediate()),
  };
}

type Locked = <T>(work: () => T) => T;
const atOnce: Locked = (work) => work();

function userDatabase(
  { database, userStatements, transactionWatch }: UserConnection,
  guard: () => void,
  locked = atOnce,
): UserDatabase {
  const guarded = <T>(work: () => T): T => {
    guard();
    return transactionWatch.run(work);
  };
  const guardedAndLocked = <T>(work: () => T): T => {
    guard();
    return locked(() => transactionWatch.run(work));
  };
  return {
    // A statement that only reads needs no lock.
    prepare: (sql) =>
      guarded(() => {
        const statement = userStatements.prepare(sql);
        return userStatement(statement, statement.readonly ? guarded : guardedAndLocked);
      }),
    // Returns nothing: the driver would return its own connection, which is unguarded.
    exec: (sql) => guardedAndLocked(() => void database.exec(sql)),
  };
}

function userStatement(statement: Database.Statement, guarded: Locked): UserStatement {
  return {
    run: (...parameters) => guarded(() => statement.run(...parameters)),
    get: (...parameters) => guarded(() => statement.get(...parameters)),
    all: (...parameters) => guarded(() => statement.all(...parameters)),
  };
}

/** How many statements are kept. */
const maxKept = 100;
/** The longest text that is kept, in characters: a longer one probably has values in it, and won't come again. */
const maxKeptLength = 10_000;

/**
 * Prepares users' statements, and caches them by their text, because a handler prepares the same ones in each run. A
 * statement that is dropped keeps some kilobytes outside of the heap until a full garbage collection, which its few
 * bytes on the heap don't bring about.
 */
export class UserStatements {
  readonly #database: Database.Database;
  readonly #kept = new Map<string, Database.Statement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  prepare(sql: string): Database.Statement {
    if (sql.length > maxKeptLength) return this.#database.prepare(sql);
    const statement = this.#kept.get(sql) ?? this.#database.prepare(sql);
    // The most recently used one is the last in the map.
    this.#kept.delete(sql);
    this.#kept.set(sql, statement);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    return statement;
  }
}
