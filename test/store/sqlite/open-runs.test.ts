import { expect, test } from 'vitest';
import { openedSqlite } from './opened-sqlite.ts';
import { claimedOf, dueAt, eventOf, only, presentTime, settlementOf } from '../parts.ts';

const ofCall = (traceId: string) => eventOf(traceId, { callId: 'call' });

/** A store with events of one call. Each has one open run, with this handler, these attempts and this due time. */
async function storeWith(...runs: readonly (readonly [handler: string, attempts: number, due: number])[]) {
  const store = await openedSqlite();
  for (const [index, [handler, attempts, due]] of runs.entries()) {
    const event = only(await claimedOf(store, ofCall(`trace-${index}`)));
    await store.settle(settlementOf(event, dueAt(due), { handler, attempts }));
  }
  return store;
}

test('of many open runs a further event of the call is told of each handler the one that decides', async () => {
  const store = await storeWith(
    ['first', 0, 300],
    ['first', 2, 900],
    ['first', 0, 200],
    ['second', 3, 500],
    ['second', 4, 400],
  );
  const { openRuns } = only(await claimedOf(store, ofCall('next')));
  expect(openRuns).toEqual([
    { handler: 'first', attempts: 0, dueAt: 300 },
    { handler: 'second', attempts: 3, dueAt: 500 },
  ]);
});

test('a run that is claimed and has not begun goes before a further event of the call', async () => {
  const store = await storeWith(['handler', 2, 0], ['handler', 0, 0]);
  expect(await store.claimRuns('handler', 10, presentTime)).toHaveLength(2);
  const { openRuns } = only(await claimedOf(store, ofCall('next')));
  expect(openRuns).toEqual([{ handler: 'handler', attempts: 0, dueAt: 0 }]);
});
