/**
 * Schemas and connections that tests use one after another. Emptying a schema takes a tenth of the time of making and
 * dropping one, and each connection costs the server a process.
 */
import { DatabaseError, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { Statements } from '../../src/store/postgres/connection/statement.ts';

/** The most connections of all stores of a test. */
const connections = 20;

export class PostgresSchemas {
  /** Kept for the next test: don't end it. */
  readonly pool: Pool;
  /** A connection of its own, with a lock timeout: a test may have left a transaction open. */
  readonly #aside: Pool;
  readonly #newName: () => string;
  readonly #empty: string[] = [];

  /** `newName` names schemas that are dropped when all tests have ended. */
  constructor(connectionString: string, newName: () => string) {
    const kept = { connectionString, allowExitOnIdle: true, idleTimeoutMillis: 60_000 };
    this.pool = new Pool({ ...kept, max: connections });
    this.#aside = new Pool({ ...kept, max: 1, lock_timeout: 60_000 });
    this.#newName = newName;
    // The server ends before the tests' processes, which is no error.
    for (const pool of [this.pool, this.#aside]) pool.on('error', () => {});
  }

  /** A schema for the running test, with an empty inbox or none yet. Tables that a test makes in it stay there. */
  take(): string {
    const schema = this.#empty.pop() ?? this.#newName();
    onTestFinished(async () => {
      await this.#clear(schema);
      this.#empty.push(schema);
    });
    return schema;
  }

  /** Runs a statement that names the tables of a schema without it. */
  async ask(schema: string, statement: string): Promise<unknown[]> {
    await this.#aside.query(`set search_path to "${schema}"`);
    const { rows } = await this.#aside.query(new Statements(schema).of(statement, [], 0));
    return rows;
  }

  async drop(schema: string): Promise<void> {
    await this.#aside.query(`drop schema if exists "${schema}" cascade`);
  }

  async #clear(schema: string): Promise<void> {
    const { rows: tables } = await this.#aside.query<Table>(tablesOf, [schema]);
    if (tables.length === 0) return;
    try {
      await this.#aside.query(
        [
          // Waits for statements in flight, as truncate would.
          `lock table ${tables.map(({ name }) => name).join()}`,
          ...tables.map(({ name, isLarge }) => (isLarge ? `truncate ${name}` : `delete from ${name}`)),
          `select setval(format('%I.%I', schemaname, sequencename), 1, false) from pg_sequences where schemaname = '${schema}'`,
        ].join(';'),
      );
    } catch (error) {
      // A deadlock with a statement that a stopped receiver left in flight in the pool.
      if (!(error instanceof DatabaseError) || error.code !== '40P01') throw error;
      await this.#clear(schema);
    }
  }
}

interface Table {
  readonly name: string;
  readonly isLarge: boolean;
}

/**
 * The tables to empty. Truncating makes new files for a table and its indexes, which takes longer than deleting a few
 * rows. But a table that was large would keep its size, by which the store judges how much is in it.
 */
const tablesOf = `
  select name, pg_table_size(name::regclass) > 500000 as "isLarge"
  from (select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = $1 and tablename <> 'schema_version') t`;
