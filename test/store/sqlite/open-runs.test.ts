import { expect, test } from 'vitest';
import type { Order } from '../../../src/dispatch/handler.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { claimedOf, dueAt, eventOf, handlerOf, only, recordEnded } from '../parts.ts';

const ofCall = (traceId: string) => eventOf(traceId, { callId: 'call' });

/** A store with events of one call. Each has one open run, with this handler, these attempts and this due time. */
async function storeWith(...runs: readonly (readonly [handler: string, attempts: number, due: number])[]) {
  const store = await openedSqlite();
  for (const [index, [name, attempts, due]] of runs.entries()) {
    await recordEnded(store, ofCall(`trace-${index}`), dueAt(due), { handler: handlerOf(name), attempts });
  }
  return store;
}

/** Which handlers may begin with a further event of the call. */
async function beginning(store: SqliteStore, names: readonly string[], order: Order): Promise<string[]> {
  const event = only(await claimedOf(store, ofCall(`next-${order}`)));
  const handlers = names.map((name) => handlerOf(name, { order }));
  const runs = store.runsOf(event, handlers).filter((run) => store.mayRun(run));
  return runs.map(({ handler }) => handler);
}

test('of many open runs, for each handler the one decides on a further event that has not begun', async () => {
  const store = await storeWith(
    ['first', 0, 300],
    ['first', 2, 900],
    ['first', 0, 200],
    ['second', 3, 500],
    ['second', 4, 400],
  );
  const names = ['first', 'second', 'third'];
  expect(await beginning(store, names, 'call')).toEqual(['second', 'third']);
  expect(await beginning(store, names, 'strict')).toEqual(['third']);
  expect(await beginning(store, names, 'none')).toEqual(names);
});
