/** `ringback/postgres`, and a URL as the option `database`. */
import { Pool } from 'pg';
import { expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import { maxUserTransactions } from '../../../src/store/postgres/connection/target.ts';
import { inboxDatabase } from '../../../src/store/postgres/connection/user-database.ts';
import { type PostgresTransaction, postgres } from '../../../src/store/postgres/index.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, secret } from '../../support/deliveries.ts';
import { Gate } from '../../support/gate.ts';
import { Logs } from '../../support/logs.ts';
import { testDatabase, withClient } from '../../support/postgres.ts';
import { createReceiver, type StoreFactory } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';
import { openedAt } from './shared-inbox.ts';

/** A receiver on Postgres that notes the calls of its events in a table of the user's, and is stopped when the test ends. */
async function started(database: string | StoreFactory<PostgresTransaction>, orders: string) {
  const logs = new Logs();
  const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  await receiver.database.transaction(async (tx) => {
    await tx.query(`create schema if not exists ${orders.split('.')[0] ?? ''}`);
    await tx.query(`create table if not exists ${orders} (call_id text)`);
  });
  receiver.on('*', { name: 'orders' }, async (event, { commit }) => {
    await commit((tx) => tx.query(`insert into ${orders} values ($1)`, [event.callId]));
  });
  await receiver.start();
  return { receiver, logs };
}

async function callsIn(connectionString: string, orders: string): Promise<unknown[]> {
  const pool = new Pool({ connectionString });
  try {
    return (await pool.query(`select call_id from ${orders}`)).rows;
  } finally {
    await pool.end();
  }
}

test('an inbox at a connection string handles what is delivered', { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const { receiver, logs } = await started(postgres({ connectionString, schema }), `${schema}.orders`);
  await deliverUntilTaken(receiver, bodyOf({ callId: 'call-1' }));
  await logs.until('run_done');
  expect(await callsIn(connectionString, `${schema}.orders`)).toEqual([{ call_id: 'call-1' }]);
});

test('a URL alone is enough, with the schema in it', { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('schema', schema);
  const { receiver, logs } = await started(url.href, `${schema}.orders`);
  await deliver(receiver, bodyOf({ callId: 'call-1' }));
  await logs.until('run_done');
  const [ready] = logs.of('receiver_started');
  expect(ready?.['database']).toBe(`postgres://${url.host}${url.pathname}, schema ${schema}`);
});

test("a transaction has the timeouts of the user's connection", async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString });
  onTestFinished(() => pool.end());
  pool.on(
    'connect',
    (client) =>
      void client.query(`set statement_timeout = '31s'; set lock_timeout = '32s';
        set idle_in_transaction_session_timeout = '33s'`),
  );
  const session = new Session({ connectionString: undefined, pool, schema }, systemClock);
  onTestFinished(() => session.close());
  const timeouts = `select current_setting('statement_timeout') || ' ' || current_setting('lock_timeout') || ' '
    || current_setting('idle_in_transaction_session_timeout') as all`;
  const { rows } = await inboxDatabase(session).transaction((tx) => tx.query(timeouts));
  expect(rows).toEqual([{ all: '31s 32s 33s' }]);
});

test("the user's own pool is used, and stays open when the receiver stops", { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString, max: 4 });
  onTestFinished(() => pool.end());
  const { receiver, logs } = await started(postgres({ pool, schema }), `${schema}.orders`);
  await deliver(receiver, bodyOf({ callId: 'call-1' }));
  await logs.until('run_done');
  await receiver.stop();
  expect((await pool.query(`select call_id from ${schema}.orders`)).rows).toEqual([{ call_id: 'call-1' }]);
  // A statement that was in flight when it stopped goes on in the pool.
  await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
});

test(
  'receivers that start at the same time make the tables once, theirs and ours',
  { tags: 'long' },
  async () => {
    const { connectionString, schema } = await testDatabase();
    const database = postgres({ connectionString, schema });
    // Each on a connection that is warm already: it keeps in mind that the inbox's schema isn't there.
    const receivers = Array.from({ length: 5 }, () =>
      createReceiver({ secrets: secret, database, logger: { level: 'silent' } }),
    );
    onTestFinished(
      async () => void (await Promise.all(receivers.map((receiver) => receiver.stop({ drain: 0 })))),
    );
    const makeTable = `create table if not exists ${schema}_orders (call_id text)`;
    await Promise.all(
      receivers.map((receiver) => receiver.database.transaction((tx) => tx.query(makeTable))),
    );
    await Promise.all(receivers.map((receiver) => receiver.start()));
    const pool = new Pool({ connectionString });
    onTestFinished(() => pool.end());
    await pool.query(`drop table ${schema}_orders`);
    expect((await pool.query(`select version from ${schema}.schema_version`)).rows).toEqual([{ version: 1 }]);
  },
);

test('the types follow: a client in ctx.commit and in receiver.database', () => {
  const register = () => {
    const receiver = createReceiver({ secrets: secret, database: postgres({ connectionString: '' }) });
    expectTypeOf(receiver.database.transaction((tx) => tx.query('select 1'))).resolves.toHaveProperty('rows');
    return receiver.on('*', (_event, { commit }) =>
      commit((tx) => expectTypeOf(tx).toEqualTypeOf<PostgresTransaction>()),
    );
  };
  expectTypeOf(register).returns.not.toBeAny();
});

test('what is set on the connection of a transaction ends with that', { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString, max: 4 });
  onTestFinished(() => pool.end());
  const { receiver } = await started(postgres({ pool, schema }), `${schema}.orders`);
  const hijacked = () => Promise.reject(new Error('hijacked'));
  await receiver.database.transaction(async (tx) => {
    tx.query = hijacked;
    await expect(tx.query('select 1')).rejects.toThrow('hijacked');
  });
  for (let times = 0; times < 8; times += 1)
    expect(await receiver.counts()).toMatchObject({ events: { done: 0 } });
});

test('a transaction for tables that has ended can not be used any more', async () => {
  const { connectionString, schema } = await testDatabase();
  const { receiver } = await started(postgres({ connectionString, schema }), `${schema}.orders`);
  // A method of an emitter returns the object that it belongs to.
  const kept = await receiver.database.transaction((tx) => [tx, tx.once('notice', () => {})]);
  for (const tx of kept)
    await expect(async () => tx.query('select 1')).rejects.toMatchObject({ code: 'commit_ended' });
});

test('the database of a receiver that has stopped is closed, and makes no connection again', async () => {
  const { connectionString, schema } = await testDatabase();
  const { receiver } = await started(postgres({ connectionString, schema }), `${schema}.orders`);
  const { database } = receiver;
  await receiver.stop();
  const late = database.transaction((tx) => tx.query('select 1'));
  await expect(late).rejects.toMatchObject({ code: 'database_closed' });
});

test('a transaction that waits until others have ended does not hold up the close of the store', async () => {
  const { connectionString, schema } = await testDatabase();
  const store = await openedAt(connectionString, schema, new ManualClock());
  const gate = new Gate();
  const others = Array.from({ length: maxUserTransactions }, () =>
    store.database.transaction(() => gate.pass()),
  );
  const late = store.database.transaction(() => {});
  await gate.reached;
  store.abandon();
  onTestFinished(() => gate.open());
  await expect(late).rejects.toMatchObject({ code: 'database_closed' });
  gate.open();
  await Promise.all(others);
});

test('a transaction for tables can not give its connection back itself', async () => {
  const { connectionString, schema } = await testDatabase();
  const { receiver } = await started(postgres({ connectionString, schema }), `${schema}.orders`);
  await expect(receiver.database.transaction((tx) => tx.release())).rejects.toMatchObject({
    code: 'commit_ended',
  });
});

test("a user's statement may take longer than one of the store's own, also one that waits for another process", async () => {
  const { connectionString, schema } = await testDatabase();
  const session = new Session({ connectionString, pool: undefined, schema }, systemClock);
  onTestFinished(() => session.close());
  const database = inboxDatabase(session);
  await session.query(`create schema ${schema}; create table ${schema}.orders (call_id text)`);
  await withClient(connectionString, async (client) => {
    await client.query(`begin; lock table ${schema}.orders`);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const count = `select count(*)::integer as count from ${schema}.orders`;
    const counts = Array.from({ length: 2 }, () => database.transaction((tx) => tx.query(count)));
    const own = session.query(count).catch((error: unknown) => error);
    const ofUsers = `hashtextextended('ringback:"${schema}":users', 0)`;
    const waiting = `select from pg_locks where not granted and (relation = '${schema}.orders'::regclass
      or locktype = 'advisory' and (classid::bigint << 32 | objid::bigint) = ${ofUsers})`;
    while ((await client.query(waiting)).rowCount !== 3);
    vi.advanceTimersByTime(3_600_000);
    expect(await own).toMatchObject({ code: 'database_unreachable' });
    await client.query('commit');
    expect((await Promise.all(counts)).map(({ rows }) => rows)).toEqual([[{ count: 0 }], [{ count: 0 }]]);
  });
});

test.each([
  ['no place at all', {}],
  ['two places', { connectionString: 'postgres://x/y', pool: new Pool() }],
  ['a URL of something else', { connectionString: 'mysql://user:hush@host/app' }],
  ['a pool of something else', { pool: {} as Pool }],
  ['a name that the database would cut', { connectionString: 'postgres://x/y', schema: 'a'.repeat(64) }],
  ['a name of the system', { connectionString: 'postgres://x/y', schema: 'pg_catalog' }],
  ['a name with a quote', { connectionString: 'postgres://x/y', schema: 'a"; drop table x; --' }],
])('%s is refused with a sentence', (_, options) => {
  expect(() => postgres(options)).toThrowErrorMatchingSnapshot();
});

test.each([
  'host=x password=hush',
  'postgres:user:hush@host',
  'mysql://user:hush@host/app',
  'postgres://user:hush@host/app?schema=No',
  'postgres://user:hush@host/app?shema=calls',
  'postgres://user:hush@host/app?Schema=calls',
  'postgres://user:hush@',
  'postgres://user:hush@host:5432,standby:5432/app',
  'postgres://user:hu@/sh@host/app',
  'postgres://user:/hush@host/app',
  'postgres://user:12/hush@host/app',
  'postgres://user:12#hush@host/app',
  'postgres://user:12?hush@host/app',
])('the URL %s is refused, and its credentials are not shown', (database) => {
  const make = () => createReceiver({ secrets: secret, database });
  expect(make).toThrow('a postgres:// URL');
  expect(make).not.toThrow('hush');
});

test('a URL may name a Unix socket instead of a host', async () => {
  const receiver = createReceiver({
    secrets: secret,
    database: 'postgres://user:hush@/app?host=/no-such-folder&schema=calls',
    logger: { level: 'silent' },
  });
  await expect(receiver.start()).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringMatching(/localhost\/app, schema calls .* ENOENT \/no-such-folder\//),
  });
});

test('a database that is not there is reported with a sentence', async () => {
  const { connectionString } = await testDatabase();
  const url = new URL(connectionString);
  url.pathname = '/no_such_database';
  const receiver = createReceiver({ secrets: secret, database: url.href, logger: { level: 'silent' } });
  onTestFinished(() => receiver.stop());
  receiver.on('*', () => {});
  await expect(receiver.start()).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining('there is no database with that name'),
  });
});

test("the error of a user's own statement stays the driver's, about whichever table it is", async () => {
  const { connectionString, schema } = await testDatabase();
  const { receiver } = await started(postgres({ connectionString, schema }), `${schema}.orders`);
  const failed = receiver.database.transaction((tx) => tx.query('select from no_such_table'));
  await expect(failed).rejects.toMatchObject({ name: 'error', code: '42P01' });
});

test('a server older than Postgres 15 is refused with a sentence, and nothing is made', async () => {
  const { connectionString, schema } = await testDatabase();
  // What the server says of itself comes from a function of the same name that goes before its own.
  await withClient(connectionString, (client) =>
    client.query(`create schema older; create function older.current_setting(name text) returns text language sql as
      $$ select case name when 'server_version_num' then '140009' when 'server_version' then '14.9'
        else pg_catalog.current_setting(name) end $$`),
  );
  onTestFinished(() => withClient(connectionString, (client) => client.query('drop schema older cascade')));
  const url = new URL(connectionString);
  url.searchParams.set('options', '-c search_path=older,pg_catalog');
  const database = postgres({ connectionString: url.href, schema });
  const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
  onTestFinished(() => receiver.stop());
  receiver.on('*', () => {});
  await expect(receiver.start()).rejects.toMatchObject({
    code: 'database_version',
    message: expect.stringContaining('should be of Postgres 15 or later, but its server is Postgres 14.9'),
  });
  await withClient(connectionString, async (client) => {
    const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
    expect(rowCount).toBe(0);
  });
});

test.each(['repeatable read', 'serializable'])(
  'a user whose statements run in %s is refused with a sentence, and nothing is made',
  async (isolation) => {
    const { connectionString, schema } = await testDatabase();
    const url = new URL(connectionString);
    url.searchParams.set('options', `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`);
    const database = postgres({ connectionString: url.href, schema });
    const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
    onTestFinished(() => receiver.stop());
    receiver.on('*', () => {});
    await expect(receiver.start()).rejects.toMatchObject({
      code: 'database_isolation',
      message: expect.stringContaining(`but has ${isolation}`),
    });
    const pool = new Pool({ connectionString, max: 1 });
    onTestFinished(() => pool.end());
    expect(await pool.query('select from pg_namespace where nspname = $1', [schema])).toMatchObject({
      rowCount: 0,
    });
  },
);

test('a transaction runs in read committed, should the default have changed since the start', async () => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('options', '-c default_transaction_isolation=serializable');
  const session = new Session({ connectionString: url.href, pool: undefined, schema }, systemClock);
  onTestFinished(() => session.close());
  const isolation = "select current_setting('transaction_isolation') as found";
  expect(await session.query(isolation)).toEqual([{ found: 'serializable' }]);
  expect(await session.write((transaction) => transaction.query(isolation))).toEqual([
    { found: 'read committed' },
  ]);
});
