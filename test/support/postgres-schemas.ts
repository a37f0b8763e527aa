/**
 * Schemas and connections that tests use one after the other: to empty a schema takes a tenth of what it costs the server
 * to make another, and to drop that, and every connection costs it a process.
 */
import { DatabaseError, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { Statements } from '../../src/store/postgres/connection/statement.ts';

/** Connections for all stores of a test. */
const connections = 20;

export class PostgresSchemas {
  /** Kept for the next test: whoever uses it leaves it open. */
  readonly pool: Pool;
  /** A connection that doesn't wait for ever for a transaction that a test has left open. */
  readonly #aside: Pool;
  readonly #newName: () => string;
  readonly #empty: string[] = [];

  /** `newName`: of a schema that is dropped when all tests have ended. */
  constructor(connectionString: string, newName: () => string) {
    const kept = { connectionString, allowExitOnIdle: true, idleTimeoutMillis: 60_000 };
    this.pool = new Pool({ ...kept, max: connections });
    this.#aside = new Pool({ ...kept, max: 1, lock_timeout: 60_000 });
    this.#newName = newName;
    // The server ends before the processes of the tests do.
    for (const pool of [this.pool, this.#aside]) pool.on('error', () => {});
  }

  /** A schema for the test that runs, with an empty inbox or none yet. Tables that a test makes in it stay there. */
  take(): string {
    const schema = this.#empty.pop() ?? this.#newName();
    onTestFinished(async () => {
      await this.#clear(schema);
      this.#empty.push(schema);
    });
    return schema;
  }

  /** What a statement returns that names the tables of a schema without it. */
  async ask(schema: string, statement: string): Promise<unknown[]> {
    await this.#aside.query(`set search_path to "${schema}"`);
    const { rows } = await this.#aside.query(new Statements(schema).of(statement, []));
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
          // As a truncation would: what is still under way is waited for.
          `lock table ${tables.map(({ name }) => name).join()}`,
          ...tables.map(({ name, isLarge }) => (isLarge ? `truncate ${name}` : `delete from ${name}`)),
          `select setval(format('%I.%I', schemaname, sequencename), 1, false) from pg_sequences where schemaname = '${schema}'`,
          `update "${schema}".quarantine_totals set count = default, bytes = default, dropped = default`,
        ].join(';'),
      );
    } catch (error) {
      // A statement that a receiver had under way when it was stopped goes on in the pool, and may lock in another order.
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
 * The tables to empty. To truncate one makes its file and those of its indexes anew, which takes longer than to delete a few
 * rows. But a table that was large would stay so, and the store takes its size for that of what is in it.
 */
const tablesOf = `
  select name, pg_table_size(name::regclass) > 500000 as "isLarge"
  from (select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = $1 and tablename not in ('schema_version', 'quarantine_totals')) t`;
