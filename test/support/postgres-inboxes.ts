/** Schemas that tests use one after the other: to empty one takes a tenth of the time that it takes to make another. */
import { DatabaseError, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { Statements } from '../../src/store/postgres/connection/statement.ts';
import { postgres } from '../../src/store/postgres/index.ts';
import type { SharedPostgres } from './postgres.ts';
import type { Clock, StoreFactory } from './public.ts';

/** Connections for all receivers of a test, kept for the next one. */
const connections = 20;

/** For a store that doesn't give up a delivery where a busy machine makes the database slow. */
const patient = (clock: Clock): Clock => ({
  now: () => clock.now(),
  elapsed: () => clock.elapsed(),
  after: (ms, action) => clock.after(20 * ms, action),
});

interface Inbox extends StoreFactory {
  readonly schema: string;
}

export class PostgresInboxes {
  readonly #server: SharedPostgres;
  readonly #pool: Pool;
  /** A connection that doesn't wait for ever for a transaction that a test has left open. */
  readonly #aside: Pool;
  readonly #ofFiles = new Map<string, Inbox>();
  readonly #empty: string[] = [];

  constructor(server: SharedPostgres) {
    const { connectionString } = server;
    this.#server = server;
    this.#pool = new Pool({ connectionString, max: connections, allowExitOnIdle: true });
    this.#aside = new Pool({ connectionString, max: 1, allowExitOnIdle: true, lock_timeout: 60_000 });
    // The server ends before the processes of the tests do.
    for (const pool of [this.#pool, this.#aside]) pool.on('error', () => {});
  }

  /** The inbox of this file for the test that runs, or a new one for `:memory:`. */
  inboxOf(database: string): Inbox {
    const known = this.#ofFiles.get(database);
    if (known) return known;
    const inbox = this.#newInbox();
    if (database !== ':memory:') {
      this.#ofFiles.set(database, inbox);
      onTestFinished(() => void this.#ofFiles.delete(database));
    }
    return inbox;
  }

  /** Where another process finds the inbox of this file. */
  urlOf(database: string): string {
    const url = new URL(this.#server.connectionString);
    url.searchParams.set('schema', this.inboxOf(database).schema);
    return url.href;
  }

  /** What a statement returns that names the inbox's tables without their schema. */
  async ask(database: string, statement: string): Promise<unknown[]> {
    const { schema } = this.inboxOf(database);
    await this.#aside.query(`set search_path to "${schema}"`);
    const { rows } = await this.#aside.query(new Statements(schema).of(statement, []));
    return rows;
  }

  #newInbox(): Inbox {
    const schema = this.schema();
    // These tests say nothing of what is lent to `ctx.commit`.
    const factory = postgres({ pool: this.#pool, schema }) as unknown as StoreFactory;
    return { schema, createStore: (clock) => factory.createStore(patient(clock)) };
  }

  /** A schema for the test that runs, with an empty inbox or none yet. */
  schema(): string {
    const schema = this.#empty.pop() ?? this.#server.sharedSchema();
    onTestFinished(async () => {
      await this.#clear(schema);
      this.#empty.push(schema);
    });
    return schema;
  }

  async #clear(schema: string): Promise<void> {
    const { rows } = await this.#aside.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname = $1 and tablename not in ('schema_version', 'quarantine_totals')`,
      [schema],
    );
    if (rows.length === 0) return;
    try {
      await this.#aside.query(
        `truncate ${rows.map(({ name }) => name).join()} restart identity;
         alter sequence "${schema}".sequences restart;
         update "${schema}".quarantine_totals set count = default, bytes = default, dropped = default`,
      );
    } catch (error) {
      // A statement that a receiver had under way when it was stopped goes on in the pool, and may lock in another order.
      if (!(error instanceof DatabaseError) || error.code !== '40P01') throw error;
      await this.#clear(schema);
    }
  }
}
