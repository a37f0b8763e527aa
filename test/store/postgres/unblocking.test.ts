// @module-tag long
/** What is unblocked doesn't depend on the plan that the database makes, which follows its statistics. */
import { expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimDue, claimedRuns, done, dueAt, endOf, eventOf, handlerOf, only } from '../parts.ts';
import { asIfTiny, openedOnPool } from './opened-postgres.ts';

test('a strict run that is settled unblocks one run of its call, whatever the plan is', async () => {
  const store = (await openedOnPool(undefined, asIfTiny)).store as unknown as Store;
  const events = ['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
  const [first, ...others] = await claimedRuns(store, events, handlerOf('handler', { order: 'strict' }));
  if (!first) throw new Error('nothing was claimed');
  await store.settle(first, endOf(dueAt(500)));
  for (const run of others) await store.requeue(run);
  await store.settle(only(await claimDue(store, handlerOf('handler', { order: 'none' }))), endOf(done));
  expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
});
