/** How an inbox on Postgres is brought to the schema of this version, with schemas that don't exist yet. */
import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { migrate, migrations } from '../../../src/store/postgres/connection/migrations/index.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import type { Statement } from '../../../src/store/postgres/connection/statement.ts';
import { inboxDatabase } from '../../../src/store/postgres/connection/user-database.ts';
import { bodyOf } from '../../support/deliveries.ts';
import { testDatabase, withClient } from '../../support/postgres.ts';
import { deliverUntilTaken, started } from '../../support/receiver.ts';

const next = [...migrations, "alter table ringback.events add column tone text not null default 'calm'"];
const broken = [
  ...next,
  'create table ringback.notes (text text); alter table ringback.missing add column more text',
];

/** An inbox of the present schema with one event, and a session to look behind it. */
async function inbox() {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('schema', schema);
  const database = url.href;
  const { receiver } = await started({ database });
  await deliverUntilTaken(receiver, bodyOf({ traceId: 'kept' }));
  await receiver.stop();
  return { database, session: sessionOn(connectionString, schema) };
}

function sessionOn(connectionString: string, schema: string): Session {
  const session = new Session({ connectionString, pool: undefined, schema }, systemClock);
  onTestFinished(() => session.close());
  return session;
}

const versionsIn = (session: Session) => session.query('select version from ringback.schema_version');
const isThere = async (session: Session, table: string) =>
  (
    await session.query(`select from pg_tables where schemaname = $1 and tablename = $2`, [
      session.statements.schema.replaceAll('"', ''),
      table,
    ])
  ).length > 0;

test('an older inbox is migrated once, and keeps its data', async () => {
  const { session } = await inbox();
  await migrate(session, next);
  expect(await versionsIn(session)).toEqual([{ version: next.length }]);
  expect(await session.query('select trace_id, tone from ringback.events')).toEqual([
    { trace_id: 'kept', tone: 'calm' },
  ]);
  await migrate(session, next);
  expect(await session.query('select tone from ringback.events')).toEqual([{ tone: 'calm' }]);
});

test('processes that migrate at the same time do it once', async () => {
  const { session } = await inbox();
  await Promise.all([1, 2, 3].map(() => migrate(session, next)));
  expect(await versionsIn(session)).toEqual([{ version: next.length }]);
});

test('a migration has the time that it needs, and so has the wait for that of another process', async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString });
  onTestFinished(() => pool.end());
  const timeouts = new Map<string, number>();
  pool.on('connect', (client) => {
    const send = client.query.bind(client) as (statement: Statement) => Promise<unknown>;
    client.query = ((statement: Statement) => {
      timeouts.set(statement.text, statement.query_timeout);
      return send(statement);
    }) as typeof client.query;
  });
  const session = new Session({ connectionString: undefined, pool, schema }, systemClock);
  onTestFinished(() => session.close());
  await migrate(session, next);
  const isLong = (text: string) =>
    text.includes('pg_advisory_xact_lock(') ||
    next.some((migration) => session.statements.inSchema(migration) === text);
  const long = [...timeouts].filter(([text]) => isLong(text)).map(([, timeout]) => timeout);
  expect(long).toEqual([0, ...next.map(() => 0)]);
  expect(timeouts.get('commit')).toBeGreaterThan(0);
});

test("what waits as processes start is not ended by the timeouts of the user's role, which the user's own statements have", async () => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('options', '-c lock_timeout=1 -c statement_timeout=1h');
  const session = sessionOn(url.href, schema);
  const { schema: name } = session.statements;
  const keys = [`ringback:${name}`, `ringback:${name}:users`].map((key) => `hashtextextended('${key}', 0)`);
  const timeouts = "current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')";
  await withClient(connectionString, async (client) => {
    await client.query(`begin; select ${keys.map((key) => `pg_advisory_xact_lock(${key})`).join()}`);
    const begun = Promise.all([
      migrate(session, [...migrations, `create table ringback.noted as select ${timeouts} as timeouts`]),
      inboxDatabase(session).transaction((tx) => tx.query(`select ${timeouts} as timeouts`)),
    ]);
    const bothWait = async () => {
      const waiting = `select from pg_locks where not granted and locktype = 'advisory'
        and (classid::bigint << 32 | objid::bigint) in (${keys.join()})`;
      while ((await client.query(waiting)).rowCount !== 2);
    };
    await Promise.race([begun, bothWait()]);
    await client.query('commit');
    const [, { rows }] = await begun;
    expect(rows).toEqual([{ timeouts: '1ms 1h' }]);
    expect(await session.query('select timeouts from ringback.noted')).toEqual([{ timeouts: '0 0' }]);
  });
});

test('a new inbox runs all migrations', async () => {
  const { connectionString, schema } = await testDatabase();
  const session = sessionOn(connectionString, schema);
  await migrate(session, next);
  expect(await versionsIn(session)).toEqual([{ version: next.length }]);
  expect(await session.query('select tone from ringback.events')).toEqual([]);
});

test('a failed migration leaves the inbox as it was', async () => {
  const { session } = await inbox();
  await expect(migrate(session, broken)).rejects.toThrow();
  expect(await versionsIn(session)).toEqual([{ version: migrations.length }]);
  expect(await isThere(session, 'events')).toBe(true);
  expect(await isThere(session, 'notes')).toBe(false);
  expect(await session.query('select trace_id from ringback.events')).toEqual([{ trace_id: 'kept' }]);
  await expect(session.query('select tone from ringback.events')).rejects.toThrow();
});

test('an inbox that a newer version wrote is refused at the start, and left as it is', async () => {
  const { database, session } = await inbox();
  const known = migrations.length;
  await session.query('update ringback.schema_version set version = $1', [known + 1]);
  await expect(started({ database })).rejects.toMatchObject({
    code: 'database_newer',
    message: expect.stringMatching(
      new RegExp(
        `has schema version ${known + 1}, but this version .* up to ${known}: a newer version wrote it\\. Run that`,
      ),
    ),
  });
  expect(await versionsIn(session)).toEqual([{ version: known + 1 }]);
  expect(await session.query('select trace_id from ringback.events')).toEqual([{ trace_id: 'kept' }]);
});
