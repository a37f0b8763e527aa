import { Client } from 'pg';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { examine } from '../../src/cli/doctor/examine.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { ManualClock } from '../support/clock.ts';
import { clockWithoutWriteTimeout } from '../support/clock-without-write-timeout.ts';
import { needPrograms, ownPostgres } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { started } from '../support/receiver.ts';
import { ringback } from './command.ts';
import { type Found, commanded, examined } from './doctor-support.ts';
import { env, makeTrouble } from './inbox-support.ts';

/** A server of the test's own, with what the test runs in it as its superuser. */
async function server(settings: Readonly<Record<string, string | number>> = {}) {
  const { url } = await ownPostgres({ settings });
  return connected(url);
}

let shared: Promise<PostgresServer> | undefined;
let databases = 0;
afterAll(async () => (await shared)?.close());

/** A database of the test's own in a server that most tests share: to start one takes longer than most of them. */
async function ownDatabase() {
  needPrograms();
  const { url } = await (shared ??= startPostgres({ settings: { fsync: 'on', autovacuum: 'off' } }));
  const name = `inbox_${(databases += 1)}`;
  const { run } = await connected(url);
  await run(`create database ${name}`);
  return connected(Object.assign(new URL(url), { pathname: `/${name}` }).href);
}

async function connected(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return { url, run: (text: string) => client.query(text) };
}

async function found(database: string): Promise<Found> {
  return examined({ database });
}

describe('doctor, on an inbox in Postgres', () => {
  it('finds all well before and after the inbox is made, and makes nothing', { tags: 'long' }, async () => {
    const { url, run } = await ownDatabase();
    const name = `postgres://${new URL(url).host}${new URL(url).pathname}, schema ringback`;
    const before = await commanded([], { env: { ...env, RINGBACK_DATABASE: url } });
    expect(before).toMatchObject({
      database: `ok: ${name} has no inbox yet: the first receiver creates it`,
      postgres: expect.stringMatching(/^ok: Postgres \d+/),
      permissions: 'ok: the user may create the inbox',
      durability: 'ok: synchronous_commit is on, fsync is on',
      isolation: 'ok: statements run in read committed',
      encoding: 'ok: texts are stored in UTF8',
      'database clock': "ok: this machine's clock agrees with the database's",
      connections: expect.stringMatching(/^ok: \d+ more are possible .*, and a process opens up to 12$/),
    });
    expect(before).not.toHaveProperty('disk');
    expect((await run("select from pg_namespace where nspname = 'ringback'")).rowCount).toBe(0);

    await makeTrouble(url, []);
    expect(await found(url)).toMatchObject({
      database: `ok: ${name} can be written (schema version 1)`,
      inbox: expect.stringMatching(/^warning: events: 2, of which 0 are not done; dead letters: 1/),
      permissions: 'ok: the user may use all of the inbox',
      'dead tuples': expect.stringMatching(/^ok: dead tuples in the inbox's tables: \d+/),
    });
  });

  it('counts the connections that the limits of the user and the database leave', async () => {
    const { url, run } = await ownDatabase();
    const database = new URL(url).pathname.slice(1);
    await run(
      `create role limited login connection limit 5; grant create on database ${database} to limited`,
    );
    const limited = Object.assign(new URL(url), { username: 'limited' }).href;
    const connections = async (of: string) => (await found(of))['connections'];
    expect(await connections(limited)).toMatch(
      /^warning: 4 more are possible \(the user's connection limit\)/,
    );
    await run(`alter role limited connection limit -1; alter database ${database} connection limit 9`);
    // The connection of the look before may not have ended yet.
    await expect
      .poll(() => connections(limited))
      .toMatch(/^warning: 7 more are possible \(the database's connection limit\)/);
    // The limits don't apply to a superuser.
    expect(await connections(url)).toMatch(/^ok: \d+ more are possible \(max_connections\)/);
  });

  it('says which permissions are missing', { tags: 'long' }, async () => {
    const { url, run } = await ownDatabase();
    await run('create role app login');
    const app = Object.assign(new URL(url), { username: 'app' }).href;
    expect((await found(app))['permissions']).toBe(
      'wrong: the user lacks: create a schema in the database. Grant it (docs/postgres.md).',
    );
    await makeTrouble(url, []);
    expect(await found(app)).toMatchObject({
      database: expect.stringMatching(/^warning: .* has no inbox that the user can see/),
      permissions: expect.stringMatching(/^wrong: the user lacks: use the schema and 1 more/),
    });
    // What docs/postgres.md says.
    await run(`grant usage on schema ringback to app;
      grant select, insert, update, delete on all tables in schema ringback to app;
      grant usage on all sequences in schema ringback to app;
      grant execute on all functions in schema ringback to app`);
    expect((await found(app))['permissions']).toBe('ok: the user may use all of the inbox');
    expect((await ringback(['inbox', 'counts', '--database', app])).code).toBe(0);
    await run('revoke delete on ringback.waiting from app');
    expect((await found(app))['permissions']).toContain('wrong: the user lacks: delete on waiting.');
    expect((await found(app))['oldest transaction']).toContain('of this user (grant it pg_read_all_stats');
  });

  it(
    'finds nothing missing for a user who owns a schema that is there, and can make the inbox in it',
    { tags: 'long' },
    async () => {
      const { url, run } = await ownDatabase();
      await run('create role owner login; create schema ringback authorization owner');
      const owned = Object.assign(new URL(url), { username: 'owner' }).href;
      expect((await found(owned))['permissions']).toMatch(/^ok/);
      await makeTrouble(owned, []);
      expect((await found(owned))['database']).toMatch(/^ok/);
    },
  );

  it('sees what endangers the inbox', { tags: 'long' }, async () => {
    const { url, run } = await server({ fsync: 'off', max_connections: 12 });
    await makeTrouble(url, []);
    expect(await found(url)).toMatchObject({
      durability: expect.stringMatching(/^wrong: .*fsync is off: a crash of its machine can destroy/),
      connections: expect.stringMatching(/^warning: \d more are possible/),
    });
    await run("alter system set default_transaction_isolation = 'serializable'");
    await run('select pg_reload_conf()');
    await expect
      .poll(async () => (await found(url))['isolation'])
      .toMatch(/^wrong: statements run in serializable/);
    await run('alter system reset default_transaction_isolation');
    await run('select pg_reload_conf()');
    await run('update ringback.schema_version set version = 99');
    expect((await found(url))['database']).toMatch(
      /^wrong: .*newer version of Ringback \(schema version 99\)/,
    );
    await run('alter database postgres set default_transaction_read_only = on');
    await run('update ringback.schema_version set version = 1');
    expect((await found(url))['database']).toMatch(/^wrong: .* is read-only, like a standby/);
  });

  it('warns of commits that a crash can undo', async () => {
    const { url, run } = await ownDatabase();
    await run(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = 'off'`);
    expect((await found(url))['durability']).toMatch(
      /^warning: synchronous_commit is off, .*deliveries are safe, but what handlers wrote/,
    );
  });

  it(
    'sees an old transaction, many dead tuples, and a clock that is set wrong',
    { tags: 'long' },
    async () => {
      const { url, run } = await ownDatabase();
      await makeTrouble(url, []);
      await run('begin');
      const open = /^ok: open for \d+ s$/;
      expect((await found(url))['oldest transaction']).toMatch(open);
      await run('rollback');
      await run('insert into ringback.waiting select n from generate_series(1000, 61000) n');
      await run('delete from ringback.waiting');
      await expect
        .poll(async () => (await found(url))['dead tuples'], { interval: 500 })
        .toMatch(/^warning: dead tuples in the inbox's tables: 6\d{4}/);
      const ahead = { ...systemClock, now: () => systemClock.now() + 60_000 };
      const parts = { database: url, url: undefined, platform: undefined, environment: {} };
      const clocks = async () =>
        (await examine(parts, ahead)).find(({ check }) => check === 'database clock');
      // Half of the time that the answer takes counts, which on a busy machine may be seconds.
      await expect.poll(clocks).toMatchObject({
        status: 'warning',
        message: expect.stringMatching(/^this machine's clock is (59|60) s ahead of the database's/),
      });
    },
  );

  it(
    'shows how far the clock of each process is from the one of the database',
    { tags: 'long' },
    async () => {
      const { url } = await ownDatabase();
      const startedWith = (offset: number) =>
        started({
          database: url,
          clock: { ...clockWithoutWriteTimeout, now: () => clockWithoutWriteTimeout.now() + offset },
        });
      const inTime = await startedWith(0);
      const clocks = async () => (await found(url))['process clocks'];
      // Half of the time that a heartbeat takes counts.
      const agreeing = /^ok: ahead of the database's: \S+ \(pid \d+\) -?[01]\.\d s$/;
      await expect.poll(clocks, { interval: 500 }).toMatch(agreeing);
      await Promise.all([startedWith(60_000), startedWith(-300_000)]);
      await expect
        .poll(clocks, { interval: 500 })
        .toMatch(/^warning: (?=.* (59|60)\.\d s)(?=.* -30[01]\.\d s).*synchronize the clocks with NTP\.$/);
      await inTime.receiver.stop();
    },
  );

  it(
    'shows a process that has written no heartbeat since it was taken for dead',
    { tags: 'long' },
    async () => {
      const { url, run } = await ownDatabase();
      const clock = new ManualClock();
      const { receiver } = await started({ database: url, clock });
      const clocks = async () => (await found(url))['process clocks'];
      await run('delete from ringback.processes');
      expect(await clocks()).toBe('ok: no process works on the inbox');
      // Its heartbeat finds its row gone, and while time stands still, no other follows.
      clock.advance(2_000);
      await expect
        .poll(clocks)
        .toMatch(/^ok: ahead of the database's: \S+ \(pid \d+\) unknown before its first heartbeat$/);
      await receiver.stop({ drain: 0 });
    },
  );

  it('says that nothing listens', async () => {
    const url = 'postgres://ada:hunter2@127.0.0.1:1/app';
    expect(await found(url)).toMatchObject({
      database: expect.stringMatching(
        /^wrong: The database postgres:\/\/127\.0\.0\.1:1\/app, schema ringback .*nothing listens/,
      ),
    });
  });
});
