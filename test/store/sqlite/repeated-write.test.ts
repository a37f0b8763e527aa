import { expect, test } from 'vitest';
import { claimedOf, dead, done, endOf, eventOf, handlerOf, only } from '../parts.ts';
import { openedSqlite } from './opened-sqlite.ts';

test('the end of a run that is written again after a lost answer ends the claim on the event', async () => {
  const store = await openedSqlite();
  const event = only(await claimedOf(store, eventOf('a')));
  const [first, second] = store.runsOf(event, [handlerOf('one'), handlerOf('two')]);
  if (!first || !second) throw new Error('nothing was routed');
  // What the first write has left, beside another run of the event.
  store.database.exec(`
    insert into runs (sequence, handler, call_id, state, attempts, settled_at)
    select sequence, 'one', call_id, 'dead', 1, 1 from events`);
  expect(await store.settle(second, endOf(done))).toBe('settled');
  expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
  expect(await store.settle(first, endOf(dead))).toBe('lost');
  expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
});
