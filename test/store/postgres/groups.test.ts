import { expect, onTestFinished, test } from 'vitest';
import { identityKey } from '../../../src/store/event-record.ts';
import { eventOf, record, traceIdsOf } from '../parts.ts';
import { openedPostgres, waitsForLock } from './opened-postgres.ts';

test('deliveries that come together are two groups, so that one is written while the other is read', async () => {
  const { store, session } = await openedPostgres();
  const inTheWay = await session.pool.connect();
  // Not given back: a test that fails would leave its transaction and its lock to the next one.
  onTestFinished(() => inTheWay.release(true));
  const { schema } = session.statements;
  await inTheWay.query(`begin; lock table ${schema}.identities in share mode`);
  const recorded = Promise.all(Array.from({ length: 32 }, (_, index) => record(store, eventOf(`${index}`))));
  const waiting = async () => {
    const statements = await session.query<{ pid: number }>(
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like $1 and pid <> pg_backend_pid()",
      [`%${schema}.record_events%`],
    );
    return statements.length;
  };
  await expect.poll(waiting).toBe(2);
  await inTheWay.query('rollback');
  expect(await recorded).toEqual(Array.from({ length: 32 }, () => 'new'));
});

test('an event waits until an earlier one of its call has been recorded, and no other event does', async () => {
  const { store, session } = await openedPostgres();
  const [first, later, another] = [
    eventOf('first', { callId: 'call-1' }),
    eventOf('later', { callId: 'call-1' }),
    eventOf('another'),
  ];
  const recorded = await session.write(async (transaction) => {
    // Until it is known whether this is kept, nobody knows whether the first is a copy.
    const key = identityKey(first.identity);
    await transaction.query('insert into ringback.identities (identity) values ($1)', [key]);
    const ofFirst = record(store, first);
    await waitsForLock(session);
    const ofLater = record(store, later);
    expect(await record(store, another)).toBe('new');
    expect(await store.events.get('later')).toBeUndefined();
    await transaction.query('delete from ringback.identities where identity = $1', [key]);
    return { both: Promise.all([ofFirst, ofLater]) };
  });
  expect(await recorded.both).toEqual(['new', 'new']);
  expect(traceIdsOf(await store.claimEvents(10))).toEqual(['first', 'another', 'later']);
});
