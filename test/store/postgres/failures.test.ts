import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { Settled } from '../../../src/store/claims.ts';
import { maxGroups } from '../../../src/store/failure-store.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { testDatabase, withClient } from '../../support/postgres.ts';
import { type AnyStore, claimedRun, dead, endOf, eventOf, failureOf, presentTime } from '../parts.ts';
import { openedPostgres, statementsThatWait, waitsForLock } from './opened-postgres.ts';

const failure = failureOf('m');

/** Leaves a group without a run: the event that has failed in this way is removed. */
async function leaveUnusedGroup(store: AnyStore) {
  const former = await claimedRun(store, eventOf('a'));
  await store.settle(former, endOf(dead, { failure }));
  await store.retention.eraseEvents([former.sequence], Number.MAX_SAFE_INTEGER);
}

const groupsOf = (store: AnyStore) => store.failures.groups({ handler: undefined, limit: 10 });

test('a group of failures is kept for a run that fails while another process removes the group as unused', async () => {
  const { store, session } = await openedPostgres();
  await leaveUnusedGroup(store);
  const run = await claimedRun(store, eventOf('b'));
  let settled: Promise<Settled> | undefined;
  await session.write(async (transaction) => {
    await transaction.query('delete from ringback.failure_groups');
    settled = store.settle(run, endOf(dead, { failure }));
    await Promise.race([settled, waitsForLock(session)]);
  });
  expect(await settled).toBe('settled');
  expect(await groupsOf(store)).toMatchObject([{ id: failure.group, dead: 1 }]);
});

test('a group of failures is kept for a run that has failed since another process found the group unused', async () => {
  const { connectionString, schema } = await testDatabase();
  // The first random() that is found is the one below, at which the search for unused groups waits.
  const url = new URL(connectionString);
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog`);
  const pool = new Pool({ connectionString: url.href, max: 4 });
  onTestFinished(() => pool.end());
  const place = { connectionString: undefined, pool, schema };
  const clock = new ManualClock(presentTime);
  const [store, session] = [new PostgresStore(place, clock), new Session(place, clock)];
  onTestFinished(() => session.close());
  await store.open();
  onTestFinished(() => store.close());
  await leaveUnusedGroup(store);
  await pool.query(`
    insert into failure_groups (fingerprint, handler, cause, message, first_seen_at)
    select n, 'handler', 'Error', '', 0 from generate_series(1, ${maxGroups}) as n;
    create function random() returns double precision language plpgsql as $$ begin
      perform pg_advisory_xact_lock(hashtext('${schema}'));
      return 0;
    end $$`);
  const [run, another] = [await claimedRun(store, eventOf('b')), await claimedRun(store, eventOf('c'))];
  await withClient(connectionString, async (client) => {
    await client.query(`begin; select pg_advisory_xact_lock(hashtext('${schema}'))`);
    const removing = store.settle(another, endOf(dead, { failure: { ...failure, group: 'another' } }));
    await waitsForLock(session);
    expect(await store.settle(run, endOf(dead, { failure }))).toBe('settled');
    await client.query('commit');
    expect(await removing).toBe('settled');
  });
  expect(await groupsOf(store)).toContainEqual(expect.objectContaining({ id: failure.group, dead: 1 }));
});

test('the message of a group of failures is kept for a run that fails while messages of unused groups are cleared', async () => {
  const { store, session } = await openedPostgres();
  await leaveUnusedGroup(store);
  const run = await claimedRun(store, eventOf('b'));
  let both: Promise<unknown> | undefined;
  await session.write(async (transaction) => {
    // Its end comes after its failure.
    await transaction.query('lock table ringback.claims in exclusive mode');
    const settled = store.settle(run, endOf(dead, { failure }));
    await waitsForLock(session);
    const cleared = store.retention.clearUnusedGroups();
    both = Promise.all([settled, cleared]);
    const bothWait = async () => {
      while ((await statementsThatWait(session)) < 2);
    };
    await Promise.race([cleared, bothWait()]);
  });
  await both;
  expect(await groupsOf(store)).toMatchObject([{ id: failure.group, message: failure.message, dead: 1 }]);
});
