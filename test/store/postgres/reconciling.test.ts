import { expect, test } from 'vitest';
import { eventOf, record } from '../parts.ts';
import { reconciledOf } from '../conformance/reconciling.ts';
import { openedPostgres, waitsForLock } from './opened-postgres.ts';

test('a reconciled event gives up behind a process that is lost while it records, and holds up no delivery', async () => {
  const { store, session } = await openedPostgres();
  await session.write(async (transaction) => {
    // As a process does that records in a transaction, and says nothing more.
    await transaction.query(
      "select pg_advisory_xact_lock_shared(hashtextextended('ringback.reconciling', 0))",
    );
    const refused = record(store, reconciledOf()).catch((error: unknown) => error);
    await waitsForLock(session);
    expect(await record(store, eventOf('behind', { callId: 'call-2' }))).toBe('new');
    expect(await refused).toMatchObject({ code: '55P03' });
  });
  expect(await record(store, reconciledOf())).toBe('new');
  expect(await record(store, reconciledOf('call-2'))).toBe('duplicate');
});

test('deliveries bring keys only once there is a reconciled event, also if another process has recorded it', async () => {
  const { store, session } = await openedPostgres();
  const reconciled = "select from ringback.settings where name = 'reconciled'";
  await record(store, eventOf('first', { callId: 'call-1' }));
  await record(store, reconciledOf());
  expect(await session.query(reconciled)).toEqual([]);
  await record(store, reconciledOf('call-2'));
  expect(await session.query(reconciled)).toHaveLength(1);
  expect(await record(store, eventOf('late', { callId: 'call-2' }))).toBe('duplicate');
});
