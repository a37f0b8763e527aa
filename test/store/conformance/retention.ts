/** What every store must do with what has been kept long enough. */
import { describe, expect, test } from 'vitest';
import type { RetentionLimits } from '../../../src/store/retention-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  failureOf,
  handlerOf,
  only,
  record,
  recordEnded,
  runOf,
} from '../parts.ts';

const traceIdsUntil = 10_000;

/** Runs this part of the suite. */
export function describeRetention(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: retention`, () => {
    test('removes what arrived and was done long enough ago, and neither what is newer nor what waits', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('old', { receivedAt: 1_999 }), done);
      await recordEnded(store, eventOf('not old enough', { receivedAt: 2_000 }), done);
      await recordEnded(store, eventOf('open', { receivedAt: 1_000 }), dueAt(500));
      await claimedOf(store, eventOf('claimed', { receivedAt: 1_000 }));
      await record(store, eventOf('new', { receivedAt: 1_000 }));
      expect(await clean(store, { doneBefore: 2_000 })).toMatchObject({ events: 1, runs: 0 });
      expect(await store.events.get('old')).toBeUndefined();
      expect((await store.counts()).events).toEqual({ new: 2, open: 1, done: 1 });
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'new' }]);
    });

    test('an event whose runs were done later is kept from then on, and goes with them', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('a', { receivedAt: 1_000 }), dueAt(0));
      await store.settle(only(await claimDue(store)), endOf(done, { decidedAt: 4_000 }));
      expect(await clean(store, { doneBefore: 4_000 })).toMatchObject({ events: 0, runs: 0 });
      expect(await clean(store, { doneBefore: 4_001 })).toMatchObject({ events: 1, runs: 1 });
    });

    test('a dead letter is kept for a time of its own, which begins when it was given up', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('a', { receivedAt: 1_000 }), dead, { decidedAt: 4_000 });
      const limits = { doneBefore: 9_000, deadBefore: 4_000 };
      expect(await clean(store, limits)).toMatchObject({ events: 0, runs: 0 });
      expect((await store.counts()).runs.dead).toBe(1);
      expect(await clean(store, { deadBefore: 4_001 })).toMatchObject({ events: 1, runs: 1 });
      expect((await store.counts()).runs.dead).toBe(0);
    });

    test('the other events of a call stay while a join of it waits, or is kept as a dead letter', async () => {
      const store = await opened();
      const join = handlerOf('join', {
        join: { events: ['Started', 'Ended'], within: 60_000, runsAgain: false },
      });
      const old = { callId: 'call-1', receivedAt: 1_000 };
      const opening = only(await claimedOf(store, eventOf('a', { ...old, eventName: 'Started' })));
      await store.requeue(runOf(store, opening, join));
      await recordEnded(store, eventOf('b', { ...old, eventName: 'Other' }), done);
      await recordEnded(store, eventOf('of another', { ...old, callId: 'call-2' }), done);
      expect(await clean(store, { doneBefore: 9_000 })).toMatchObject({ events: 1 });
      const run = only(await claimDue(store, join, { now: Number.MAX_SAFE_INTEGER }));
      await store.settle(run, endOf(dead, { decidedAt: 4_000 }));
      expect(await clean(store, { doneBefore: 9_000, deadBefore: 4_000 })).toMatchObject({ events: 0 });
      await clean(store, { doneBefore: 9_000, deadBefore: 4_001 });
      expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
    });

    test('with the last dead letter that has failed in some way goes what the group of it says', async () => {
      const store = await opened();
      const failure = failureOf('m');
      const muted = async () => (await store.failures.named(['g'])).map(({ isMuted }) => isMuted);
      await store.settle(await claimedRun(store, eventOf('a')), endOf(dead, { failure, decidedAt: 4_000 }));
      await store.failures.mute('g', 5_000);
      const messages = async () => (await store.retention.look('failure_groups', undefined)).found;
      expect(await messages()).toMatchObject([{ contents: ['m'] }]);
      await clean(store, { deadBefore: 4_001 });
      expect(await messages()).toMatchObject([{ contents: [''] }]);
      expect(await muted()).toEqual([true]);
    });

    test('removes deliveries from quarantine by their arrival', async () => {
      const store = await opened();
      const parts = { kind: 'not_authentic', reason: 'signature_mismatch', digest: 'd' } as const;
      const kept = { ...parts, headers: {}, body: Buffer.from('x'), skipped: 0 };
      const old = await store.quarantine.keep({ ...kept, receivedAt: 1_000 });
      const newer = await store.quarantine.keep({ ...kept, receivedAt: 2_000 });
      expect(await clean(store, { quarantineBefore: 2_000 })).toMatchObject({ quarantined: 1 });
      expect(await store.quarantine.get(old.id)).toBeUndefined();
      expect(await store.quarantine.get(newer.id)).toMatchObject({ id: newer.id });
    });

    test('a copy of what was removed is a duplicate until its trace id is forgotten', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('a', { receivedAt: 1_000 }), done);
      await clean(store, { doneBefore: 2_000 });
      expect(await record(store, eventOf('a'))).toBe('duplicate');
      expect(await clean(store, { now: traceIdsUntil - 1 })).toMatchObject({ traceIds: 0 });
      expect(await record(store, eventOf('a'))).toBe('duplicate');
      expect(await clean(store, { now: traceIdsUntil })).toMatchObject({ traceIds: 1 });
      expect(await record(store, eventOf('a'))).toBe('new');
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
    });

    test('the trace id of an event that is kept is never forgotten', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('a', { receivedAt: 1_000 }), done);
      expect(await clean(store, { now: Number.MAX_SAFE_INTEGER })).toMatchObject({ traceIds: 0 });
      expect(await record(store, eventOf('a'))).toBe('duplicate');
    });

    test('works in steps until everything is removed, past what must stay', { tags: 'long' }, async () => {
      const store = await opened();
      const records = Array.from({ length: 600 }, (_, index) => eventOf(`trace-${index}`));
      await Promise.all(records.map((event) => record(store, event)));
      const events = await store.claimEvents(600);
      const stays = events.slice(0, 250);
      await Promise.all(stays.map((event) => store.settle(runOf(store, event), endOf(dead))));
      await Promise.all(events.slice(250).map((event) => store.finish(event)));
      expect(await clean(store, { doneBefore: 9_000 })).toMatchObject({ events: 350 });
      expect((await store.counts()).events.done).toBe(250);
    });
  });
}

/** Cleans in as many steps as it takes; how much was removed in all. Where no limit is given, nothing is old enough. */
async function clean(store: Store, limits: Partial<RetentionLimits>) {
  const all = { doneBefore: 0, deadBefore: 0, quarantineBefore: 0, now: 0, traceIdsUntil, ...limits };
  const removed = { events: 0, runs: 0, quarantined: 0, traceIds: 0 };
  let after: string | undefined;
  do {
    const step = await store.retention.clean(all, after);
    removed.events += step.events;
    removed.runs += step.runs;
    removed.quarantined += step.quarantined;
    removed.traceIds += step.traceIds;
    after = step.next;
  } while (after !== undefined);
  await store.retention.clearUnusedGroups();
  return removed;
}
