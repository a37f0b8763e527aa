import type Database from 'better-sqlite3';

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
