import { expect, test } from 'vitest';
import type { Settled } from '../../../src/store/claims.ts';
import { claimedRun, dead, endOf, eventOf, failureOf } from '../parts.ts';
import { openedPostgres, waitsForLock } from './opened-postgres.ts';

test('a group of failures is kept for a run that fails while another process removes the group as unused', async () => {
  const { store, session } = await openedPostgres();
  const failure = failureOf('m');
  const former = await claimedRun(store, eventOf('a'));
  await store.settle(former, endOf(dead, { failure }));
  await store.retention.eraseEvents([former.sequence], Number.MAX_SAFE_INTEGER);
  const run = await claimedRun(store, eventOf('b'));
  let settled: Promise<Settled> | undefined;
  await session.write(async (transaction) => {
    await transaction.query('delete from ringback.failure_groups');
    settled = store.settle(run, endOf(dead, { failure }));
    await Promise.race([settled, waitsForLock(session)]);
  });
  expect(await settled).toBe('settled');
  expect(await store.failures.groups({ handler: undefined, limit: 10 })).toMatchObject([
    { id: failure.group, dead: 1 },
  ]);
});
