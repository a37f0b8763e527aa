/**
 * What a database can do to a receiver: deliveries are answered with 503 while it lasts, and all goes on by itself when it is
 * over, with nothing lost and nothing done twice.
 */
import { Client, Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { internalsOf } from '../../src/receiver/receiver.ts';
import { postgres } from '../../src/store/postgres/index.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Logs } from '../support/logs.ts';
import { behindProxy, ownPostgres, testDatabase, withClient } from '../support/postgres.ts';
import { createReceiver } from '../support/public.ts';
import { losesStandby } from '../support/synchronous-standby.ts';

interface Inbox {
  readonly connectionString: string;
  readonly schema: string;
}

/** Brings a failure about, and resolves to what ends it. */
type Fail = (inbox: Inbox) => Promise<() => unknown>;

const locked: Fail = async ({ connectionString, schema }) => {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`begin; lock table ${schema}.identities in exclusive mode`);
  return () => client.end();
};

/** Every write is answered with this error. The server's own words and codes follow from its documentation. */
function refusing(code: string): Fail {
  return async ({ connectionString, schema }) => {
    const each = async (what: (table: string) => string) =>
      withClient(connectionString, async (client) => {
        for (const table of ['identities', 'ended', 'runs', 'processes']) await client.query(what(table));
      });
    await withClient(connectionString, (client) =>
      client.query(
        `create function ${schema}.refuse() returns trigger language plpgsql as
         $$ begin raise exception sqlstate '${code}'; end $$`,
      ),
    );
    await each(
      (table) =>
        `create trigger refuse before insert or update or delete on ${schema}.${table}
         for each statement execute function ${schema}.refuse()`,
    );
    return () => each((table) => `drop trigger refuse on ${schema}.${table}`);
  };
}

/** A receiver on an inbox of its own, without a handler: what it takes waits. */
async function receiving() {
  const { connectionString, schema } = await testDatabase();
  const database = postgres({ connectionString, schema });
  const receiver = createReceiver({ secrets: secret, database, logger: new Logs().logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  await receiver.start();
  const isReady = () => internalsOf(receiver as never).lifecycle.checkReady();
  const run = (sql: string) => withClient(connectionString, (client) => client.query(sql));
  return { receiver, isReady, run, schema };
}

/** SQL: somebody's trigger, which keeps rows out of a table without an error. */
function keepingOut(schema: string, table: string, when = ''): string {
  return `create function ${schema}.forget() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger forget before insert on ${schema}.${table} for each row ${when}
    execute function ${schema}.forget()`;
}

const failures: Readonly<Record<string, { readonly options?: string; readonly fail: Fail }>> = {
  'somebody locks its table': { fail: locked },
  'statements time out': { options: '-c statement_timeout=2000', fail: locked },
  'locks time out': { options: '-c lock_timeout=2000', fail: locked },
  'its disk is full': { fail: refusing('53100') },
};

test.each(Object.entries(failures))('of a database, %s', async (_name, { options, fail }) => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  if (options !== undefined) url.searchParams.set('options', options);
  await survives({ connectionString: url.href, schema }, () => fail({ connectionString, schema }));
});

test('of a database, nothing comes back from the network', { tags: 'long' }, async () => {
  const { connectionString, silence } = await throughProxy();
  await survives({ connectionString, schema: 'ringback' }, silence);
});

test(
  "of a database, nothing comes back from the network to a pool of the user's",
  { tags: 'long' },
  async () => {
    const { connectionString, silence } = await throughProxy();
    const pool = new Pool({ connectionString, connectionTimeoutMillis: 5_000 });
    pool.on('error', () => {});
    onTestFinished(() => pool.end());
    await survives({ pool, schema: 'ringback' }, silence);
  },
);

test('of a database, its synchronous standby is gone, so that no commit ends', { tags: 'long' }, async () => {
  const server = await ownPostgres();
  await survives({ connectionString: server.url, schema: 'ringback' }, () => losesStandby(server.url));
});

test('of a database, it is down, and has lost its connections', async () => {
  const server = await ownPostgres();
  await survives({ connectionString: server.url, schema: 'ringback' }, async () => {
    await server.stop('immediate');
    return () => server.start();
  });
});

test('of a database, it can only be read', { tags: 'long' }, async () => {
  const server = await ownPostgres();
  const turn = (state: string) =>
    withClient(server.url, async (client) => {
      await client.query('set default_transaction_read_only = off');
      await client.query(`alter database postgres set default_transaction_read_only = ${state}`);
      // It is so for new connections.
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = 'postgres' and pid <> pg_backend_pid()`,
      );
    });
  await survives({ connectionString: server.url, schema: 'ringback' }, async () => {
    await turn('on');
    return () => turn('off');
  });
});

test('of a database, all of its connections are taken', { tags: 'long' }, async () => {
  const server = await ownPostgres({ settings: { max_connections: 12, superuser_reserved_connections: 0 } });
  await survives({ connectionString: server.url, schema: 'ringback' }, async () => {
    await server.stop('immediate');
    await server.start();
    const taken: Client[] = [];
    for (;;) {
      const client = new Client({ connectionString: server.url });
      const isRefused = await client.connect().then(
        () => false,
        () => true,
      );
      if (isRefused) break;
      taken.push(client);
    }
    return () => Promise.all(taken.map((client) => client.end()));
  });
});

test(
  'operations during which a database ends the connection, or is down, reject with its problem, and the API answers 503',
  { tags: 'long' },
  async () => {
    const server = await ownPostgres();
    const receiver = createReceiver({ secrets: secret, database: server.url, logger: new Logs().logger });
    onTestFinished(() => receiver.stop({ drain: 0 }));
    receiver.on('*', { name: 'crm' }, () => {});
    await receiver.start();
    const api = receiver.api({ authorize: () => 'read' });
    const asked = async () => {
      const response = await api.fetch(new Request('http://localhost/events'));
      const { error } = (await response.json()) as { readonly error: { readonly code: string } };
      if (response.status !== 503) throw new Error(`it was answered with ${response.status}`);
      throw error;
    };
    const operations: Readonly<Record<string, () => Promise<unknown>>> = {
      counts: () => receiver.counts(),
      list: () => receiver.events.list(),
      replay: () => receiver.events.replay({ state: 'dead' }),
      failures: () => receiver.failures.list(),
      calls: () => receiver.calls.get('call-1'),
      pause: () => receiver.handlers.pause('crm'),
      quarantine: () => receiver.quarantine.list(),
      erase: () => receiver.erase({ callId: 'call-1' }),
      audit: () => receiver.audit.list(),
      api: asked,
    };
    const unreachable = (code: unknown) =>
      Object.fromEntries(Object.keys(operations).map((name) => [name, code]));
    const codes = async () => {
      const codeOf = (work: Promise<unknown>) =>
        work.then(
          () => 'done',
          (error: { readonly code?: string }) => error.code,
        );
      const asking = Object.entries(operations).map(async ([name, work]) => [name, await codeOf(work())]);
      return Object.fromEntries(await Promise.all(asking)) as Readonly<Record<string, unknown>>;
    };
    await withClient(server.url, async (locking) => {
      // The receiver's own statements take several tables as well: neither waits until that is found to be a deadlock.
      const lockAll = () =>
        locking
          .query(
            `begin;
           set local lock_timeout = 100;
           do $$ declare name text; begin
             for name in select tablename from pg_tables where schemaname = 'ringback' loop
               execute format('lock table ringback.%I', name);
             end loop;
           end $$`,
          )
          .then(
            () => true,
            () => locking.query('rollback').then(() => false),
          );
      await expect.poll(lockAll).toBe(true);
      let isOver = false;
      const during = codes().finally(() => (isOver = true));
      // Again and again: there are fewer connections than operations.
      await withClient(server.url, async (ending) => {
        const end = async () => {
          await ending.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'",
          );
          return isOver;
        };
        await expect.poll(end).toBe(true);
      });
      expect(await during).toEqual(unreachable('database_unreachable'));
    });
    await server.stop('immediate');
    expect(await codes()).toEqual(unreachable('database_unreachable'));
    await server.start();
  },
);

test(
  'of a database, its disk has room for small rows only: it is not ready until there is room for bodies',
  { tags: 'long' },
  async () => {
    const { receiver, isReady, run, schema } = await receiving();
    await run(
      `create function ${schema}.refuse() returns trigger language plpgsql as
       $$ begin raise exception sqlstate '53100'; end $$;
       create trigger refuse before insert on ${schema}.bodies for each row
       when (length(new.body) > 10000) execute function ${schema}.refuse()`,
    );
    const large = () => deliver(receiver, bodyOf({ payload: { transcript: 'x'.repeat(20_000) } }));
    expect((await large()).status).toBe(503);
    await expect.poll(isReady).toBe(false);
    await run(`drop trigger refuse on ${schema}.bodies`);
    await expect.poll(isReady).toBe(true);
    await expect.poll(async () => (await large()).status).toBe(200);
  },
);

test.each(['schema_version', 'settings', 'waiting', 'paused_handlers'])(
  'an inbox whose table %s somebody has renamed is refused with a sentence',
  async (table) => {
    const { connectionString, schema } = await testDatabase();
    const database = postgres({ connectionString, schema });
    const make = () => createReceiver({ secrets: secret, database, logger: new Logs().logger });
    const [first, second] = [make(), make()];
    await first.start();
    await first.stop();
    await withClient(connectionString, (client) =>
      client.query(`alter table ${schema}.${table} rename to ${table}_old`),
    );
    onTestFinished(() => second.stop({ drain: 0 }));
    await expect(second.start()).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(
        /but: it differs from the inbox of this version \(relation ".+" (?:does not exist|already exists)\)\. Restore /,
      ) as string,
    });
  },
);

test('a delivery whose row a trigger keeps out fails alone, and those that come with it are taken', async () => {
  const { receiver, run, schema } = await receiving();
  await run(keepingOut(schema, 'events', "when (new.trace_id = 'bad')"));
  const ids = ['good-1', 'good-2', 'bad', 'good-3', 'good-4'];
  const answers = () => Promise.all(ids.map((traceId) => deliver(receiver, bodyOf({ traceId }))));
  // Together again and again, because on a busy machine a write may take longer than a sender waits.
  const statuses = async () => (await answers()).map(({ status }) => status);
  await expect.poll(statuses).toEqual([200, 200, 503, 200, 200]);
});

test.each(['identities', 'events', 'bodies', 'waiting'])(
  'a delivery of which a trigger keeps the row out of %s is not acknowledged, and it is not ready',
  async (table) => {
    const { receiver, isReady, run, schema } = await receiving();
    const body = bodyOf({ traceId: 'kept-out' });
    await run(keepingOut(schema, table));
    expect((await deliver(receiver, body)).status).toBe(503);
    await expect.poll(isReady).toBe(false);
    await run(`drop trigger forget on ${schema}.${table}`);
    await expect.poll(isReady).toBe(true);
    await expect.poll(async () => (await deliver(receiver, body)).json.status).toBe('accepted');
    expect(await receiver.events.get('kept-out')).toMatchObject({ state: 'new' });
  },
);

test('an unreadable delivery that a trigger keeps out of quarantine is not acknowledged', async () => {
  const { receiver, run, schema } = await receiving();
  await run(keepingOut(schema, 'quarantine'));
  expect((await deliver(receiver, 'no JSON')).status).toBe(503);
  await run(`drop trigger forget on ${schema}.quarantine`);
  await expect.poll(async () => (await deliver(receiver, 'no JSON')).json.status).toBe('quarantined');
  expect((await receiver.quarantine.list()).deliveries).toHaveLength(1);
});

/** A server of its own, and how the network in front of it goes silent. */
async function throughProxy(): Promise<{
  readonly connectionString: string;
  readonly silence: () => ReturnType<Fail>;
}> {
  const server = await ownPostgres();
  const { proxy, connectionString } = await behindProxy(server.url);
  return { connectionString, silence: async () => proxy.silence() };
}

/** Delivers before, during and after a failure, and expects each event to have its one effect. */
async function survives(
  inbox: Inbox | (Pick<Inbox, 'schema'> & { readonly pool: Pool }),
  fail: () => ReturnType<Fail>,
): Promise<void> {
  const { schema } = inbox;
  const logs = new Logs();
  const gate = new Gate();
  const database = postgres(inbox);
  const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  receiver.on(
    '*',
    { timeout: '5s', retry: { attempts: 100_000, base: 100, cap: 100 } },
    async (event, { commit }) => {
      if (event.traceId === 'before') await gate.pass();
      await commit((tx) => tx.query(`insert into ${schema}.effects values ($1)`, [event.traceId]));
    },
  );
  await receiver.start();
  await receiver.database.transaction((tx) => tx.query(`create table ${schema}.effects (trace_id text)`));
  const before = () => deliver(receiver, bodyOf({ traceId: 'before', callId: 'call-1' }));
  await expect.poll(async () => (await before()).status).toBe(200);
  await gate.reached;

  const end = await fail();
  // The commit of the first handler falls into the failure, too.
  gate.open();
  const during = () => deliver(receiver, bodyOf({ traceId: 'during', callId: 'call-2' }));
  const { status, headers } = await during();
  expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  // Its own time was up, or the database had refused it: the timeouts of statements and locks, of seconds, come later.
  expect(logs.of('delivery_failed').at(-1)?.['cause']).not.toMatch(/time-?out/i);
  await expect.poll(() => internalsOf(receiver as never).lifecycle.checkReady()).toBe(false);

  await end();
  await expect.poll(async () => (await during()).status).toBe(200);
  await expect.poll(() => internalsOf(receiver as never).lifecycle.checkReady()).toBe(true);
  await logs.until('run_done', 2);
  const written = await receiver.database.transaction(async (tx) => {
    const { rows } = await tx.query<{ trace_id: string }>(`select trace_id from ${schema}.effects`);
    return rows.map((row) => row.trace_id);
  });
  expect(written.toSorted()).toEqual(['before', 'during']);
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 2 });
}
