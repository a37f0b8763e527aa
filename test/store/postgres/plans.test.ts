// @module-tag long
import type { Pool, PoolClient } from 'pg';
import { expect, test } from 'vitest';
import { claimDue, claimedRun, dead, done, endOf, eventOf, failureOf, handlerOf, record } from '../parts.ts';
import { cursorAfter } from '../../../src/store/shared/cursor.ts';
import { openedOnPool } from './opened-postgres.ts';

/** How many rows and entries of indexes have been read of a table. */
async function readOf(
  { pool, clients, schema }: { pool: Pool; clients: ReadonlySet<PoolClient>; schema: string },
  table: 'identities' | 'runs' | 'events' | 'joins' | 'bodies' | 'ended',
): Promise<number> {
  for (const client of clients) await client.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: string }>(
    `select t.seq_tup_read + (select sum(i.idx_tup_read) from pg_stat_all_indexes i where i.relid = t.relid) as read
     from pg_stat_all_tables t where t.schemaname = $1 and t.relname = $2`,
    [schema, table],
  );
  return Number(rows[0]?.read);
}

/** Adds 8,000 events, from sequence 101 on, of 2,000 calls. */
async function addEvents(
  { pool, schema }: { pool: Pool; schema: string },
  owner: number | null,
): Promise<void> {
  await pool.query(
    `with copies as (select 100 + n as sequence, 'call-' || n / 4 as call_id from generate_series(1, 8000) as s (n)),
     bodies as (insert into ${schema}.bodies select c.sequence, headers, body from ${schema}.bodies, copies c)
     insert into ${schema}.events
     select c.sequence, trace_id, event_name, c.call_id, organization_id, agent_id, occurred_at, received_at, facts,
       ${owner}, source
     from ${schema}.events, copies c`,
  );
}

test('a group with a copy reads its own identities only, also by a plan made when there were few', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  // Statistics that are brought up to date would have it planned anew.
  await pool.query(`alter table ${schema}.identities set (autovacuum_enabled = off)`);
  const recordGroup = (name: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, index) => record(store, eventOf(`${name}-${Math.floor(index / 2)}`))),
    );
  const half = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'new' : 'duplicate'));
  expect(await recordGroup('before')).toEqual(half);
  await pool.query(
    `insert into ${schema}.identities (identity, sequence)
     select sha256(n::text::bytea), nextval('${schema}.sequences') from generate_series(1, 20000) as s (n)`,
  );
  const before = await readOf(opened, 'identities');
  expect(await recordGroup('after')).toEqual(half);
  const after = await readOf(opened, 'identities');
  expect(after).toBeGreaterThan(before);
  expect(after - before).toBeLessThan(1_000);
});

test('a claim reads the bodies of its own events only, also by a plan made when there were few', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  await pool.query(`alter table ${schema}.bodies set (autovacuum_enabled = off)`);
  const claimNext = async (traceId: string) => {
    await record(store, eventOf(traceId));
    expect(await store.claimEvents(10)).toMatchObject([{ traceId }]);
  };
  // A plan that serves for all values is made with the sixth execution on a connection.
  for (let index = 0; index < 40; index += 1) await claimNext(`before-${index}`);
  await pool.query(
    `insert into ${schema}.bodies select 1000 + n, '{}', 'body' from generate_series(1, 8000) as s (n)`,
  );
  const before = await readOf(opened, 'bodies');
  await claimNext('after');
  expect((await readOf(opened, 'bodies')) - before).toBeLessThan(100);
});

test.for([
  ['none', false],
  ['call', false],
  ['call', true],
  ['strict', false],
] as const)(
  'of many runs that are due, with order %s (one of each call: %s), few are read for a few',
  async ([order, isOneACall]) => {
    const opened = await openedOnPool();
    const { store, pool, schema } = opened;
    await record(store, eventOf('a', { callId: 'call-0' }));
    await addEvents(opened, null);
    await pool.query(
      `insert into ${schema}.runs (sequence, handler, call_id, state, attempts, due_at)
     select sequence, 'handler', call_id, 'due', 1, 0 from ${schema}.events where sequence > 100`,
    );
    await pool.query(`analyze ${schema}.runs`);
    const before = await readOf(opened, 'runs');
    const claimed = await claimDue(store, handlerOf('handler', { order }), { limit: 10, isOneACall });
    const ofEachCall = [101, 104, 108, 112, 116, 120, 124, 128, 132, 136];
    const first = Array.from({ length: 10 }, (_, place) => 101 + place);
    expect(claimed.map(({ sequence }) => sequence)).toEqual(
      isOneACall || order === 'strict' ? ofEachCall : first,
    );
    expect((await readOf(opened, 'runs')) - before).toBeLessThan(2_000);
    expect(await store.settle(claimed[0] ?? expect.unreachable(), endOf(done))).toBe('settled');
  },
);

test('of many events that a process has ended, few are read when it is taken over', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  await record(store, eventOf('a', { callId: 'call-0' }));
  const { rows } = await pool.query<{ id: number }>(
    `insert into ${schema}.processes (host, pid, heartbeat_at, ended_up_to, still_owned)
     values ('host', 1, clock_timestamp() - interval '1 hour', 8095, array[150]) returning id`,
  );
  await addEvents(opened, Number(rows[0]?.id));
  const before = await readOf(opened, 'events');
  expect(await store.keepAlive()).toEqual({ takenOver: 6 });
  expect((await readOf(opened, 'events')) - before).toBeLessThan(1_000);
  const waiting = await pool.query(`select sequence from ${schema}.waiting where sequence > 100 order by 1`);
  expect(waiting.rows.map(({ sequence }) => Number(sequence))).toEqual([150, 8096, 8097, 8098, 8099, 8100]);
});

test('of many events that another process has ended, a claim reads those near what it still owns', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  await record(store, eventOf('a', { callId: 'call-0' }));
  const { rows } = await pool.query<{ id: number }>(
    `insert into ${schema}.processes (host, pid, ended_up_to) values ('host', 1, 8000) returning id`,
  );
  const other = Number(rows[0]?.id);
  await addEvents(opened, other);
  await pool.query(
    `insert into ${schema}.ended select ${other}, n, n from generate_series(101, 8099) as s (n)`,
  );
  const before = await readOf(opened, 'ended');
  expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
  expect((await readOf(opened, 'ended')) - before).toBeLessThan(2_000);
});

test('of many joins, those of the events that a look back looks at are read, also without statistics', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  const join = {
    handler: 'join',
    events: ['CallHandler.CallEnded'],
    within: 1_000,
    runsAgain: true,
  } as const;
  await pool.query(`alter table ${schema}.joins set (autovacuum_enabled = off)`);
  await record(store, eventOf('a', { eventName: join.events[0] }));
  await pool.query(
    `insert into ${schema}.events (sequence, trace_id, event_name, call_id, occurred_at, received_at, facts)
     select 100 + n, n, event_name, 'call-' || n, 1, 1, facts from ${schema}.events, generate_series(1, 50000) as s (n)`,
  );
  await pool.query(
    `insert into ${schema}.joins (handler, call_id, seen, progress)
     select 'join', call_id, '["CallHandler.CallEnded"]', '{"events":["CallHandler.CallEnded"],"missing":[],"until":1}'
     from ${schema}.events where sequence > 100`,
  );
  await pool.query(`analyze ${schema}.events`);
  const before = await readOf(opened, 'joins');
  let after: number | undefined = 100;
  for (let looks = 0; looks < 10; looks += 1)
    after = await store.calls.lookBack({ ...join, since: 0, after });
  expect(after).toBe(5_100);
  expect((await readOf(opened, 'joins')) - before).toBeLessThan(20_000);
});

test.for([
  ['dead', { state: 'dead' }],
  ['open', { state: 'open' }],
  ['new', { state: 'new' }],
  ['with a failure', { failure: 'f' }],
] as const)('of many events, few are read to list the few that are %s', async ([, filter]) => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  await record(store, eventOf('a', { callId: 'call-0' }));
  await addEvents(opened, null);
  // They are the earliest, and the latest are asked for: on the way to them there are all others.
  await pool.query(
    `insert into ${schema}.runs (sequence, handler, state, attempts, due_at, settled_at, failure)
     select n, 'handler', case when n % 2 = 0 then 'dead' else 'due' end, 1, 0, 0, 'f'
     from generate_series(101, 300) as s (n)`,
  );
  await pool.query(`insert into ${schema}.waiting select n from generate_series(301, 400) as s (n)`);
  await pool.query('select setval($1::regclass, 9000)', [`${schema}.sequences`]);
  await store.keepAlive();
  await store.keepAlive();
  await pool.query(`analyze ${schema}.events; analyze ${schema}.runs; analyze ${schema}.waiting`);
  const before = await readOf(opened, 'events');
  const { events } = await store.events.list(
    { ...filter, eventName: 'CallHandler.CallEnded' },
    { limit: 10, cursor: cursorAfter('events', 9_000) },
  );
  expect(events.length).toBeGreaterThan(0);
  expect((await readOf(opened, 'events')) - before).toBeLessThan(1_000);
});

test('of many groups of failures that have runs, few are looked at for a new one', async () => {
  const opened = await openedOnPool();
  const { store, pool, schema } = opened;
  await record(store, eventOf('a', { callId: 'call-0' }));
  await addEvents(opened, null);
  await pool.query(
    `insert into ${schema}.runs (sequence, handler, call_id, state, attempts, settled_at, failure)
     select sequence, 'handler', call_id, 'dead', 1, 0, sequence::text from ${schema}.events where sequence > 100`,
  );
  await pool.query(
    `insert into ${schema}.failure_groups (fingerprint, handler, cause, message, first_seen_at)
     select failure, handler, 'Error', 'no customer', 0 from ${schema}.runs`,
  );
  await pool.query(`analyze ${schema}.runs`);
  await pool.query(`analyze ${schema}.failure_groups`);
  const run = await claimedRun(store, eventOf('b'));
  const before = await readOf(opened, 'runs');
  await store.settle(run, endOf(dead, { failure: failureOf('no order') }));
  expect((await readOf(opened, 'runs')) - before).toBeLessThan(1_000);
});
