/** Runs the recipes of docs/postgres.md: each handler writes its row with `ctx.commit`, on a real database. */
import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type Receiver, createReceiver } from '../../src/index.ts';
import { type PostgresTransaction, postgres } from '../../src/store/postgres/index.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { Logs } from '../support/logs.ts';
import { testDatabase } from '../support/postgres.ts';
import { recipeFor } from './recipes.ts';

interface Recipe {
  readonly default: (receiver: Receiver<PostgresTransaction>) => void;
}

test.each(['drizzle-orm/node-postgres', 'kysely', 'knex'])(
  'the recipe for %s writes within the transaction of ctx.commit',
  async (builder) => {
    const { connectionString, schema } = await testDatabase();
    const url = new URL(connectionString);
    // The recipes name their table without a schema.
    url.searchParams.set('options', `-c search_path=${schema}`);
    const pool = new Pool({ connectionString: url.href });
    onTestFinished(() => pool.end());
    await pool.query(`create schema ${schema}`);
    await pool.query(
      `create table orders (call_id text primary key, ended_at timestamptz not null,
        written_by text default current_setting('application_name'))`,
    );

    const logs = new Logs();
    const database = postgres({ connectionString: url.href, schema });
    const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
    onTestFinished(() => receiver.stop({ drain: 0 }));
    const { default: handlers } = (await import(recipeFor(builder, 'docs/postgres.md'))) as Recipe;
    handlers(receiver);
    await receiver.start();
    await deliver(receiver, bodyOf({ callId: 'call-1', traceId: 'trace-1' }));
    await logs.until('run_done');
    // A second event of the call breaks the key: its run isn't done either.
    await deliver(receiver, bodyOf({ callId: 'call-1', traceId: 'trace-2' }));
    await logs.until('run_retry');
    // Ringback's connections say their name: a recipe that writes on one of its own would be found here.
    expect((await pool.query('select call_id, written_by from orders')).rows).toEqual([
      { call_id: 'call-1', written_by: 'ringback' },
    ]);
    expect((await receiver.counts()).events).toMatchObject({ done: 1, open: 1 });
  },
);
