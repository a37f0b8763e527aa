/** What is unblocked doesn't depend on the plan that the database makes, which follows its statistics. */
import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';
import {
  claimDue,
  claimedRuns,
  done,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
} from '../parts.ts';

/** What the planner may choose when it takes the tables for tiny: for each row, whatever is compared with it is looked up anew. */
const tiny = [
  'hashagg',
  'hashjoin',
  'mergejoin',
  'sort',
  'indexscan',
  'indexonlyscan',
  'bitmapscan',
  'material',
];

test('a strict run that is settled unblocks one run of its call, whatever the plan is', async () => {
  const { connectionString, schema } = await testDatabase();
  const options = tiny.map((node) => `-c enable_${node}=off`).join(' ');
  const pool = new Pool({ connectionString, options });
  onTestFinished(() => pool.end());
  const place = { connectionString: undefined, pool, schema };
  const store = new PostgresStore(place, new ManualClock(presentTime)) as unknown as Store;
  await store.open();
  onTestFinished(() => store.close());

  const events = ['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
  const [first, ...others] = await claimedRuns(store, events, handlerOf('handler', { order: 'strict' }));
  if (!first) throw new Error('nothing was claimed');
  await store.settle(first, endOf(dueAt(500)));
  for (const run of others) await store.requeue(run);
  await store.settle(only(await claimDue(store, handlerOf('handler', { order: 'none' }))), endOf(done));
  expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
});
