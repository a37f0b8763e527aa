import { expect, onTestFinished, test } from 'vitest';
import { eventOf, record } from '../parts.ts';
import { openedPostgres } from './opened-postgres.ts';

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
