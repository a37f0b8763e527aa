import { Pool, type PoolClient } from 'pg';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/kit/clock.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import type { Transaction } from '../../../src/store/postgres/connection/transaction.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/clock.ts';
import { postgresForTests, skipTest, testDatabase } from '../../support/postgres.ts';
import { presentTime } from '../parts.ts';

/**
 * An open store in an empty schema, and a session to look behind it. Both are closed when the test ends. A test changes rows,
 * and no table: the schema is emptied for the next one.
 */
export async function openedPostgres(): Promise<{
  readonly store: Store;
  readonly session: Session;
  readonly clock: ManualClock;
}> {
  const postgres = await postgresForTests();
  if ('missing' in postgres) return skipTest(postgres.missing);
  const { schemas } = postgres;
  const place = { connectionString: undefined, pool: schemas.pool, schema: schemas.take() };
  const clock = new ManualClock(presentTime);
  const store = new PostgresStore(place, clock);
  const session = new Session(place, clock);
  onTestFinished(() => session.close());
  await store.open();
  onTestFinished(() => store.close());
  // What its transactions are is nothing to these tests, which are about what is asked outside of one.
  return { store: store as unknown as Store, session, clock };
}

/**
 * The options of connections on which the planner chooses what it may choose when it takes the tables for tiny: for each row,
 * whatever is compared with it is looked up anew.
 */
export const asIfTiny = [
  'hashagg',
  'hashjoin',
  'mergejoin',
  'sort',
  'indexscan',
  'indexonlyscan',
  'bitmapscan',
  'material',
]
  .map((node) => `-c enable_${node}=off`)
  .join(' ');

/** An open store on a pool whose connections the test can disturb, with `options` of the server for each of them. */
export async function openedOnPool(
  clock: Clock = new ManualClock(presentTime),
  options?: string,
): Promise<{
  readonly store: PostgresStore;
  readonly pool: Pool;
  readonly connectionString: string;
  readonly schema: string;
  /** Those that the pool has made. */
  readonly clients: ReadonlySet<PoolClient>;
}> {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString, max: 4, options });
  onTestFinished(() => pool.end());
  pool.on('error', () => {});
  const clients = new Set<PoolClient>();
  pool.on('connect', (client) => void clients.add(client));
  const store = new PostgresStore({ connectionString: undefined, pool, schema }, clock);
  await store.open();
  onTestFinished(() => store.close());
  return { store, pool, connectionString, schema, clients };
}

type Send = (...args: unknown[]) => Promise<unknown>;

/** The text of a statement for the driver, which comes by itself or in an object. */
export function textOf([statement]: readonly unknown[]): string {
  return typeof statement === 'string' ? statement : (statement as { readonly text: string }).text;
}

/**
 * Answers the next statement outside of a transaction in place of the database. `send` sends it on its connection, `resend` on
 * another one.
 */
export function answerNextStatement(
  pool: Pool,
  answer: (send: () => Promise<unknown>, resend: () => Promise<unknown>) => Promise<unknown>,
): void {
  let isAnswered = false;
  const connect = pool.connect.bind(pool) as (callback: ConnectCallback) => void;
  const answering = (client: PoolClient): void => {
    const send = client.query.bind(client) as Send;
    client.query = ((...args: unknown[]) => {
      client.query = send as typeof client.query;
      if (isAnswered || textOf(args).startsWith('begin')) return send(...args);
      isAnswered = true;
      pool.connect = connect as typeof pool.connect;
      return answer(
        () => send(...args),
        () => (pool.query as Send).apply(pool, args),
      );
    }) as typeof client.query;
  };
  pool.connect = ((callback: ConnectCallback) =>
    connect((error, client, done) => {
      if (client) answering(client);
      callback(error, client, done);
    })) as typeof pool.connect;
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: Error) => void,
) => void;

/**
 * Has the next statement outside of a transaction fail, as if a pooler had it and lost the connection on which it came. Returns
 * the function that sends it.
 */
export function holdNextStatement(pool: Pool): () => Promise<unknown> {
  const held = Promise.withResolvers<() => Promise<unknown>>();
  answerNextStatement(pool, (_send, resend) => {
    held.resolve(resend);
    return Promise.reject(new Error('the connection is lost'));
  });
  return async () => (await held.promise)();
}

/** Waits until a statement in the store's schema waits for a lock. */
export async function waitsForLock(session: Session): Promise<void> {
  while ((await statementsThatWait(session)) === 0);
}

/** How many statements in the store's schema wait for a lock. */
export async function statementsThatWait(session: Session): Promise<number> {
  const waiting = await session.query(
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like $1 and pid <> pg_backend_pid()",
    [`%${session.statements.schema}%`],
  );
  return waiting.length;
}

/** Waits until another transaction waits for this one. */
export async function untilAnotherWaits(transaction: Transaction): Promise<void> {
  for (let look = 0; look < 1_000; look += 1) {
    const waiting = await transaction.query(
      'select 1 from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))',
    );
    if (waiting.length > 0) return;
    await transaction.query('select pg_stat_clear_snapshot()');
  }
}
