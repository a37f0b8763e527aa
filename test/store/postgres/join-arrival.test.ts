/** Whichever order the answers of the database come in, no event of a join is lost. */
import { expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimDue, claimedRun, done, endOf, eventOf, handlerOf, only, presentTime } from '../parts.ts';
import { answerNextStatement, openedOnPool } from './opened-postgres.ts';

const events = ['Started', 'Ended'];
const within = 60_000;
const handler = handlerOf('join', { join: { events, within, runsAgain: true } });

test('an event that arrives as an attempt of the join begins is seen, or the join runs again for it', async () => {
  const opened = await openedOnPool();
  const store = opened.store as unknown as Store;
  const arrive = async (eventName: string) =>
    store.requeue(await claimedRun(store, eventOf(eventName, { eventName, callId: 'call-1' }), handler));
  await arrive('Started');
  const run = only(await claimDue(store, handler, { now: presentTime + within }));

  const [read, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isHeld = true;
  answerNextStatement(opened.pool, async (send) => {
    const answer = await send();
    read.resolve();
    if (isHeld) await arrived.promise;
    return answer;
  });
  const seeing = store.calls.noteSeen(run, events);
  await Promise.race([read.promise, seeing]);
  isHeld = false;
  await arrive('Ended');
  arrived.resolve();
  const seen = ((await seeing)?.events ?? []).map(({ eventName }) => eventName);
  await store.settle(run, endOf(done));
  const again = await claimDue(store, handler);
  expect([...seen, ...again.map(({ eventName }) => eventName)]).toEqual(events);
});
