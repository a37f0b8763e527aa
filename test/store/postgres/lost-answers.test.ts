import type { Socket } from 'node:net';
import { Client, type Pool, type PoolClient } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  claimDue,
  claimedOf,
  claimedRun,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
  record,
} from '../parts.ts';
import { rollbackTimeout } from '../../../src/store/postgres/connection/transaction.ts';
import { ManualClock } from '../../support/clock.ts';
import { behindProxy, testDatabase, withClient } from '../../support/postgres.ts';
import { openedOnPool, openedPostgres } from './opened-postgres.ts';
import { openedAt } from './shared-inbox.ts';

describe('a commit on Postgres whose answer is lost', () => {
  test('is neither made twice nor taken for failed: the effects of a run', async () => {
    const { store, pool, schema, cutAtCommit } = await opened();
    await pool.query(`create table "${schema}".orders (call_id text)`);
    const run = await claimedRun(store, eventOf('a'));
    cutAtCommit();
    const settled = store.settleWith(run, endOf(done), (tx) =>
      tx.query(`insert into "${schema}".orders values ('call-1')`),
    );
    expect(await settled).toBe('settled');
    expect((await pool.query(`select call_id from "${schema}".orders`)).rows).toHaveLength(1);
    expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  });

  test.for([
    ['done', done, { new: 0, open: 0, done: 1 }],
    ['dead', dead, { new: 0, open: 0, done: 1 }],
    ['due', dueAt(0), { new: 0, open: 1, done: 0 }],
  ] as const)('is known for what it was: the end of a run that is %s', async ([, state, events]) => {
    const { store, cutAtCommit } = await opened();
    const run = await claimedRun(store, eventOf('a'));
    const isCut = cutAtCommit();
    expect(await store.settle(run, endOf(state))).toBe('settled');
    expect(isCut()).toBe(true);
    expect((await store.counts()).events).toEqual(events);
  });

  test('is recognised as a claim, which no other process could end', { tags: 'long' }, async () => {
    const { store, cutAtCommit } = await opened();
    await record(store, eventOf('a'));
    cutAtCommit();
    const claimed = only(await store.claimEvents(10));
    await store.settle(only(store.runsOf(claimed, [handlerOf()])), endOf(dueAt(0)));
    const isCut = cutAtCommit();
    const run = only(await claimDue(store));
    expect(isCut()).toBe(true);
    expect(await store.settle(run, endOf(done))).toBe('settled');
  });
});

test(
  'as many commits as there are connections, whose answers are all lost, leave connections to ask what became of them',
  { tags: 'long' },
  async () => {
    const { store, pool, cutAtCommit } = await opened();
    const runs = [];
    for (const traceId of ['a', 'b', 'c', 'd']) runs.push(await claimedRun(store, eventOf(traceId)));
    const gate = Promise.withResolvers<void>();
    const begun = runs.map(() => Promise.withResolvers<void>());
    const settled = runs.map((run, index) =>
      store.settleWith(run, endOf(done), () => {
        begun[index]?.resolve();
        return gate.promise;
      }),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    expect(pool.totalCount).toBe(runs.length);
    cutAtCommit();
    gate.resolve();
    expect(await Promise.all(settled)).toEqual(runs.map(() => 'settled'));
    expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 4 });
  },
);

test(
  'as many transactions as there are connections, whose statements go on after their end, leave connections to end them',
  { tags: 'long' },
  async () => {
    const { store, clock, connectionString, schema } = await opened();
    const other = new Client({ connectionString });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(`create table "${schema}".orders (call_id text)`);
    await other.query(`begin; lock table "${schema}".orders`);
    const runs = [];
    for (const traceId of ['a', 'b', 'c', 'd']) runs.push(await claimedRun(store, eventOf(traceId)));
    const isWritten = Promise.withResolvers<void>();
    const settling = runs.map((run) =>
      store.settleWith(run, endOf(done), async (tx) => {
        tx.query(`insert into "${schema}".orders values ('call-1')`).catch(() => {});
        await isWritten.promise;
        throw new Error('not written');
      }),
    );
    const settled = Promise.allSettled(settling);
    const waiting = `select from pg_locks where not granted and relation = '"${schema}".orders'::regclass`;
    const countWaiting = async () => (await other.query(waiting)).rowCount;
    await expect.poll(countWaiting).toBe(runs.length);
    isWritten.resolve();
    await clock.timer(rollbackTimeout, runs.length);
    clock.advance(rollbackTimeout);
    const failed = { status: 'rejected', reason: expect.objectContaining({ message: 'not written' }) };
    expect(await settled).toEqual(runs.map(() => failed));
    await expect.poll(countWaiting).toBe(0);
  },
);

test(
  'a transaction whose connection is lost without a word is ended, so that its locks are free',
  { tags: 'long' },
  async () => {
    const { connectionString, schema } = await testDatabase();
    const { proxy, connectionString: throughProxy } = await behindProxy(connectionString);
    const clock = new ManualClock(presentTime);
    const store = await openedAt(throughProxy, schema, clock);
    const run = await claimedRun(store, eventOf('a'));
    let backend: number | undefined;
    const settled = store.settleWith(run, endOf(done), async (tx) => {
      backend = (await tx.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
      const resume = proxy.silence();
      resume();
      throw new Error('not written');
    });
    const failed = expect(settled).rejects.toThrow('not written');
    await clock.timer(rollbackTimeout);
    clock.advance(rollbackTimeout);
    await failed;
    await withClient(connectionString, async (client) => {
      const ofBackend = async () =>
        (await client.query('select from pg_stat_activity where pid = $1', [backend])).rowCount;
      await expect.poll(ofBackend).toBe(0);
    });
    proxy.cut();
  },
);

test('a connection to Postgres that ends as it is made fails what it is for, and nothing else', async () => {
  const { store, pool } = await opened();
  const lose = (client: PoolClient) =>
    queueMicrotask(() => client.emit('error', new Error('the connection has ended')));
  pool.once('acquire', lose);
  await expect(store.claimEvents(10)).resolves.toEqual([]);
  expect(pool.totalCount).toBe(0);
});

test('a connection to a database that can only be read, as one made during a failover, is not used again', async () => {
  const { store, clients } = await openedOnPool();
  await record(store, eventOf('a'));
  for (const client of clients) await client.query('set default_transaction_read_only = on');
  await expect(store.claimEvents(10)).rejects.toMatchObject({ code: 'database_unreachable' });
  await expect.poll(() => store.claimEvents(10).catch(() => [])).toMatchObject([{ traceId: 'a' }]);
});

describe('a transaction on Postgres that waits for another, which waits for it', () => {
  test('is made again when the database has ended it', { tags: 'long' }, async () => {
    const { store, pool, schema } = await opened();
    const run = await claimedRun(store, eventOf('a'));
    await store.settle(run, endOf(dueAt(0)));
    const again = only(await claimDue(store));
    const other = await pool.connect();
    onTestFinished(() => other.release(true));
    // The transaction of the store is the one to be ended.
    await other.query("begin; set local deadlock_timeout = '1h'");
    await other.query(`select from "${schema}".runs for update`);
    const settled = store.settle(again, endOf(done));
    await lockAwaited(pool, schema);
    const { rows } = await other.query<{ id: string }>(`select id from "${schema}".processes`);
    await other.query('select pg_advisory_xact_lock(hashtextextended($1, $2))', [
      `"${schema}".processes`,
      rows[0]?.id,
    ]);
    await other.query('commit');
    expect(await settled).toBe('settled');
  });
});

/** Resolves when a transaction waits for a row of the runs. */
async function lockAwaited(pool: Pool, schema: string): Promise<void> {
  const { rowCount } = await pool.query(
    `select from pg_locks waiting join pg_locks held using (pid) where not waiting.granted and
     held.relation = '"${schema}".runs'::regclass`,
  );
  return rowCount === 0 ? lockAwaited(pool, schema) : undefined;
}

/** A store whose connections can be cut. */
async function opened() {
  const clock = new ManualClock(presentTime);
  const { clients, ...rest } = await openedOnPool(clock);
  return {
    ...rest,
    clock,
    /** Drops each connection that there is as its next COMMIT is answered, so that nobody gets the answer. */
    cutAtCommit: () => {
      let isCut = false;
      for (const client of clients) onceAnswered(client, 'COMMIT', () => (isCut = true));
      return () => isCut;
    },
  };
}

function onceAnswered(client: PoolClient, answer: string, onCut: () => void): void {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  const listeners = stream.listeners('data');
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => {
    if (chunk.includes(answer)) {
      onCut();
      stream.destroy();
    } else for (const listener of listeners) listener(chunk);
  });
}

test('the end of a run that is written again after a lost answer ends the claim on the event', async () => {
  const { store, session } = await openedPostgres();
  const event = only(await claimedOf(store, eventOf('a')));
  const [first, second] = store.runsOf(event, [handlerOf('one'), handlerOf('two')]);
  if (!first || !second) throw new Error('nothing was routed');
  // What the first write has left, beside another run of the event.
  await session.query(`
    insert into ringback.runs (sequence, handler, call_id, state, attempts, settled_at)
    select sequence, 'one', call_id, 'dead', 1, 1 from ringback.events`);
  expect(await store.settle(second, endOf(done))).toBe('settled');
  expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
  expect(await store.settle(first, endOf(dead))).toBe('lost');
  expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
});
