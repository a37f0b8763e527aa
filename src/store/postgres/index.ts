/**
 * `ringback/postgres`: an inbox in Postgres, shared by any number of processes on any number of machines.
 *
 * @module ringback/postgres
 */
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { blameCaller } from '../../errors/errors.ts';
import { checked, hasMethods, parseStrictly } from '../../errors/option-problems.ts';
import type { StoreFactory } from '../store.ts';
import { defaultSchema, isSchemaName, readTarget, wrongTarget } from './connection/target.ts';
import { PostgresStore } from './postgres-store.ts';

export type { StoreFactory };

/** What `ctx.commit` passes to its function on Postgres: a connection of the package `pg`, inside the transaction. */
export type PostgresTransaction = unknown extends PoolClient ? UntypedClient : PoolClient;

/** Without `@types/pg`, `PoolClient` is `any`, and the compiler would take the database for a synchronous one. */
interface UntypedClient {
  query(
    query: string | object,
    values?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
}

/** Where the inbox is: exactly one of `connectionString` and `pool`. */
export interface PostgresOptions {
  /**
   * A URL such as `postgres://user:password@host:5432/app`. Ringback makes its own connections: at most 12 a process, 2
   * of them for deliveries alone, and one more while a statement isn't answered.
   */
  connectionString?: string | undefined;
  /**
   * A pool of the package `pg` that your app has already, with at least 4 connections. Ringback leaves it open when it
   * stops. Deliveries then share its connections with everything else that uses them.
   */
  pool?: Pool | undefined;
  /**
   * The schema that holds the inbox's tables; it is created if it isn't there. Lower-case letters, digits and `_`; a
   * URL can name it too, as `?schema=ringback`.
   * @default 'ringback'
   */
  schema?: string | undefined;
}

const expected = {
  url: 'a URL that begins with postgres:// or postgresql://, with a schema of lower-case letters, digits and _ if it names one, as ?schema=ringback',
  pool: 'a pool of the package pg',
  schema:
    'a name of lower-case letters, digits and _, of at most 63 characters, that does not begin with pg_',
  target: 'a URL that begins with postgres:// or postgresql://, unless pool is set',
  onePlace: 'left out where connectionString is set',
};

const optionsSchema = z
  .strictObject({
    connectionString: checked(
      expected.url,
      (value) => (typeof value === 'string' ? readTarget(value) : undefined),
      wrongTarget,
    ).optional(),
    pool: z.custom<Pool>((value) => hasMethods(value, ['connect', 'query', 'end']), expected.pool).optional(),
    schema: checked(expected.schema, (value) => (isSchemaName(value) ? value : undefined)).optional(),
  })
  .refine(({ connectionString, pool }) => connectionString !== undefined || pool !== undefined, {
    path: ['connectionString'],
    message: expected.target,
  })
  .refine(({ connectionString, pool }) => connectionString === undefined || pool === undefined, {
    path: ['pool'],
    message: expected.onePlace,
  });

/**
 * An inbox in Postgres 15 or later, for the option `database`. Needs the package `pg`. Opens nothing: each receiver
 * makes its own connections when it starts.
 *
 * @throws ConfigError for invalid options
 * @example
 * const receiver = createReceiver({
 *   secrets: process.env.WEBHOOK_SECRET,
 *   database: postgres({ connectionString: process.env.DATABASE_URL }),
 * });
 * receiver.on('CallHandler.CallEnded', async (event, ctx) => {
 *   await ctx.commit((tx) => tx.query('insert into orders (call_id) values ($1)', [event.payload.call_id]));
 * });
 */
export function postgres(options: PostgresOptions): StoreFactory<PostgresTransaction> {
  const {
    connectionString: target,
    pool,
    schema,
  } = blameCaller({ postgres }, 'postgres', () => parseStrictly(optionsSchema, options, 'postgres'));
  return {
    createStore: (clock) =>
      new PostgresStore(
        {
          connectionString: target?.connectionString,
          pool,
          schema: schema ?? target?.schema ?? defaultSchema,
        },
        clock,
      ),
  };
}
