import type Database from 'better-sqlite3';
import type { InboxDatabase, UserDatabase, UserStatement } from '../../handling.ts';

/**
 * The connection as users get it, for as long as it is theirs: an asynchronous function that goes on after it
 * was refused would otherwise write outside of any transaction.
 */
export function lent(database: Database.Database): {
  readonly database: UserDatabase;
  readonly end: () => void;
} {
  let isOver = false;
  const guard = () => {
    if (isOver) throw new Error(over);
  };
  return {
    database: userDatabase(database, guard),
    end: () => {
      isOver = true;
    },
  };
}

/** The connection for users' own tables; `opened` gives it while it may be used, and throws otherwise. */
export function inboxDatabase(opened: () => Database.Database): InboxDatabase {
  return {
    prepare: (sql) => userDatabase(opened(), () => void opened()).prepare(sql),
    exec: (sql) => opened().exec(sql),
    transaction: (work) => opened().transaction(work).immediate(),
  };
}

function userDatabase(database: Database.Database, guard: () => void): UserDatabase {
  const guarded = <T>(work: () => T): T => {
    guard();
    return work();
  };
  return {
    prepare: (sql) => guarded(() => userStatement(database.prepare(sql), guarded)),
    exec: (sql) => guarded(() => database.exec(sql)),
  };
}

function userStatement(statement: Database.Statement, guarded: <T>(work: () => T) => T): UserStatement {
  return {
    run: (...parameters) => guarded(() => statement.run(...parameters)),
    get: (...parameters) => guarded(() => statement.get(...parameters)),
    all: (...parameters) => guarded(() => statement.all(...parameters)),
  };
}

const over = 'The database was lent to ctx.commit for its function only, and that has ended.';
