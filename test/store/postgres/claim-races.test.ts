import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import { testDatabase, withClient } from '../../support/postgres.ts';
import { eventOf, record } from '../parts.ts';
import { waitsForLock } from './opened-postgres.ts';
import { openedAt } from './shared-inbox.ts';

test.for([
  ['an earlier one of its call is stored', 'waiting (sequence, call_id) values (1, $1)'],
  ['another process has claimed one of its call', 'claims (sequence, process, call_id) values (1, 0, $1)'],
] as const)('an event that a claim has chosen stays where it is if meanwhile %s', async ([, row]) => {
  const { connectionString, schema } = await testDatabase();
  // A claim finds this function first as it locks the calls of what it has chosen, and waits in it.
  const url = new URL(connectionString);
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog`);
  const store = await openedAt(url.href, schema);
  const session = new Session({ connectionString, pool: undefined, schema }, systemClock);
  onTestFinished(() => session.close());
  const callId = 'call-1';
  for (const traceId of ['a', 'b']) await record(store, eventOf(traceId, { callId }));
  await session.query('delete from ringback.waiting where sequence = 1');
  await session.query(`
    create function ringback.pg_try_advisory_xact_lock(key bigint) returns boolean language plpgsql as $$ begin
      perform pg_advisory_xact_lock(hashtext('${schema}'));
      return pg_catalog.pg_try_advisory_xact_lock(key);
    end $$`);
  await withClient(connectionString, async (client) => {
    await client.query(`begin; select pg_advisory_xact_lock(hashtext('${schema}'))`);
    const claimed = store.claimEvents(10);
    await waitsForLock(session);
    await session.query(`insert into ringback.${row}`, [callId]);
    await client.query('commit');
    expect(await claimed).toEqual([]);
  });
});
