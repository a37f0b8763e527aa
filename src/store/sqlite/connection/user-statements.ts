import type Database from 'better-sqlite3';

/** How many statements are kept. */
const maxKept = 100;
/** The longest text that is kept, in characters: a longer one has values in it, and would not come again. */
const maxKeptLength = 10_000;

/**
 * Prepares users' statements, and keeps them by their text: a handler prepares the same ones in each of its runs. One
 * that is thrown away leaves some kilobytes outside of the heap, which only a full garbage collection frees, and the
 * few bytes on the heap do not bring that about.
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
    // The one that was asked for last is the last one in the map.
    this.#kept.delete(sql);
    this.#kept.set(sql, statement);
    const [oldest] = this.#kept.keys();
    // A text with values in it may never come again.
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    return statement;
  }
}
