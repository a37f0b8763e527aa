/** The ends of claims on events, which are written together, and with the events that come meanwhile. */
import { expect, test } from 'vitest';
import type { Settled } from '../../../src/store/claims.ts';
import { turn } from '../../support/clock.ts';
import { type AnyStore, claimedRuns, done, endOf, eventOf, runOf } from '../parts.ts';
import { openedPostgres, waitsForLock } from './opened-postgres.ts';
import { sharedInbox } from './shared-inbox.ts';

/** Records an event and claims it in the same write: its run. */
async function recordedRun(store: AnyStore, traceId: string) {
  const event = await store.record(eventOf(traceId), true).claimed;
  return runOf(store, event ?? expect.unreachable());
}

test('go to the next group if those recorded with them are invalid', async () => {
  const { store } = await openedPostgres();
  const run = await recordedRun(store, 'a');
  const recording = store.record(eventOf('b', { eventName: '\u0000' }), true).written;
  const settled = store.settle(run, endOf(done));
  await expect(recording).rejects.toThrow();
  expect(await settled).toBe('settled');
});

test('are written when the recording has ended that they came too late for', async () => {
  const { store, session } = await openedPostgres();
  const run = await recordedRun(store, 'a');
  let settled: Promise<Settled> | undefined;
  await session.write(async (transaction) => {
    await transaction.query('lock table ringback.identities in exclusive mode');
    void store.record(eventOf('b'), true);
    await waitsForLock(session);
    settled = store.settle(run, endOf(done));
    for (let turns = 0; turns < 5; turns += 1) await turn();
  });
  expect(await settled).toBe('settled');
});

test('are written although they came while others were being written', async () => {
  const { store, session } = await openedPostgres();
  const [first, second] = await claimedRuns(store, [eventOf('a'), eventOf('b')]);
  if (!first || !second) throw new Error('nothing was claimed');
  let settled: Promise<Settled>[] = [];
  await session.write(async (transaction) => {
    await transaction.query('lock table ringback.claims in exclusive mode');
    settled = [store.settle(first, endOf(done))];
    await waitsForLock(session);
    settled.push(store.settle(second, endOf(done)));
    for (let turns = 0; turns < 5; turns += 1) await turn();
  });
  expect(await Promise.all(settled)).toEqual(['settled', 'settled']);
});

test('are lost once another process has taken over what was claimed', async () => {
  const inbox = await sharedInbox(2);
  const [silent, other] = inbox.stores;
  if (!silent || !other) throw new Error('There are not two stores.');
  const run = await recordedRun(silent, 'a');
  await inbox.silence(0);
  expect(await other.keepAlive()).toEqual({ takenOver: 1 });
  expect(await silent.settle(run, endOf(done))).toBe('lost');
});
