/** What every store must do for the order of the runs of one call that wait in it. */
import { describe, expect, test } from 'vitest';
import type { ClaimedRun } from '../../../src/store/claims.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedRun,
  claimedRuns,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  firstStep,
  handlerOf,
  only,
  presentTime,
  recordEnded,
  runOf,
  traceIdsOf,
} from '../parts.ts';
import { none, ofCall, orders, storeDue, storeUnbegun, strict } from './one-call.ts';

/** Runs this part of the suite. */
export function describeOrder(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: order`, () => {
    test('a strict run that is settled unblocks the next of its call, one at a time', async () => {
      const store = await opened();
      const [first, ...others] = await claimedRuns(store, ['a', 'b', 'c'].map(ofCall), strict);
      if (!first) throw new Error('nothing was claimed');
      await store.settle(first, endOf(dueAt(500)));
      for (const run of others) await store.requeue(run);
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      for (const traceId of ['a', 'b', 'c']) {
        // Without the order, so that nothing but the state of the others holds them back.
        const run = only(await claimDue(store, none));
        expect(run.traceId).toBe(traceId);
        await store.settle(run, endOf(traceId === 'b' ? dead : done));
      }
      expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0, dead: 1 });
    });

    test.each(['has failed', 'goes back as well'])(
      'of runs that go back at once, the later ones of a call wait for the first, which %s',
      async (first) => {
        const store = await opened();
        const events = Array.from({ length: 20 }, (_, call) =>
          ['a', 'b', 'c'].map((traceId) => eventOf(`${traceId}-${call}`, { callId: `call-${call}` })),
        );
        const runs = await claimedRuns(store, events.flat(), strict);
        const hasFailed = ({ traceId }: ClaimedRun) => first === 'has failed' && traceId.startsWith('a');
        await Promise.all(
          runs.map((run) => (hasFailed(run) ? store.settle(run, endOf(dueAt(500))) : store.requeue(run))),
        );
        expect((await store.counts()).runs).toMatchObject({ due: 20, blocked: 40 });
      },
    );

    test('a strict run that would wait for nothing is due at once', async () => {
      const store = await opened();
      await store.requeue(await claimedRun(store, ofCall('a'), strict));
      expect(await claimDue(store, strict, { now: 0 })).toHaveLength(1);
    });

    test('a run that goes back is due at once, also behind one that has failed', async () => {
      const store = await opened();
      await recordEnded(store, ofCall('begun'), dueAt(900));
      await store.requeue(await claimedRun(store, ofCall('next')));
      expect(traceIdsOf(await claimDue(store, handlerOf(), { now: 0 }))).toEqual(['next']);
    });

    test('a run without an order that goes back is due at once, whatever is before it', async () => {
      const store = await opened();
      await storeUnbegun(store, { a: 300 });
      await store.requeue(await claimedRun(store, ofCall('b'), none));
      expect(traceIdsOf(await claimDue(store, none, { now: 0 }))).toEqual(['b']);
    });

    test('a strict run that goes back is blocked behind an open one, also if that is claimed', async () => {
      const store = await opened();
      await storeUnbegun(store, { a: 0 });
      const before = only(await claimDue(store, strict));
      await store.requeue(await claimedRun(store, ofCall('b'), strict));
      expect((await store.counts()).runs).toMatchObject({ running: 1, blocked: 1 });
      await store.settle(before, endOf(done));
      expect(traceIdsOf(await claimDue(store, strict, { now: 0 }))).toEqual(['b']);
    });

    test('a strict run that fails behind a replayed one keeps its own wait as well', async () => {
      const store = await opened();
      const replayed = await claimedRun(store, ofCall('a'), strict);
      await store.settle(replayed, endOf(dead));
      const run = await claimedRun(store, ofCall('b'), strict);
      const { sequence } = replayed;
      const candidate = {
        sequence,
        callId: 'call-1',
        handler: 'handler',
        order: 'strict',
        isJoin: false,
      } as const;
      await store.events.requeue({ candidates: [candidate], onlyDead: true, step: await firstStep(store) });
      await store.settle(run, endOf(dueAt(500)));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      await store.settle(only(await claimDue(store, strict)), endOf(done));
      expect(await claimDue(store, strict, { now: 499 })).toEqual([]);
      expect(traceIdsOf(await claimDue(store, strict, { now: 500 }))).toEqual(['b']);
    });

    test.each(orders)(
      'a stored run keeps its attempts and its reason as it goes back: $order',
      async ({ order }) => {
        const store = await opened();
        const handler = handlerOf('handler', { order });
        await recordEnded(store, ofCall('a'), dueAt(0), { handler, attempts: 3 });
        await store.requeue(only(await claimDue(store, handler)));
        const kept = { state: 'due', attempts: 3, reason: 'failed', dueAt: 0 };
        expect((await store.events.get('a'))?.runs).toMatchObject([kept]);
        expect(await claimDue(store, handler, { now: 0 })).toMatchObject([{ attempts: 3 }]);
      },
    );

    test('without an order a run goes although an earlier one of its call waits', async () => {
      const store = await opened();
      await storeDue(store, { a: 300, b: 100 });
      const run = only(await claimDue(store, none, { now: 200 }));
      expect(run.traceId).toBe('b');
      expect(store.mayRun(run)).toBe(true);
    });

    test.each(['waits', 'is claimed'])(
      'an event is not claimed as it is written while a stored run of its call %s',
      async (first) => {
        const store = await opened();
        await storeDue(store, { a: 300 });
        if (first === 'is claimed') only(await claimDue(store, strict));
        expect(await store.record(eventOf('of another call'), true).claimed).toBeDefined();
        expect(await store.record(ofCall('b'), true).claimed).toBeUndefined();
        const run = runOf(store, only(await store.claimEvents(10)), strict);
        expect(run.traceId).toBe('b');
        expect(store.mayRun(run)).toBe(false);
      },
    );

    test('claimed strictly, a run waits for the earlier ones of its handler and call, and for no others', async () => {
      const store = await opened();
      await storeDue(store, { a: 300, b: 100 });
      for (const callId of ['call-2', undefined]) {
        await recordEnded(store, eventOf(`of ${callId}`, { callId }), dueAt(100));
      }
      const another = handlerOf('another', { order: 'strict' });
      await recordEnded(store, ofCall('c'), dueAt(100), { handler: another });
      expect(traceIdsOf(await claimDue(store, strict, { now: 200 }))).toEqual(['of call-2', 'of undefined']);
      expect(traceIdsOf(await claimDue(store, another, { now: 200 }))).toEqual(['c']);
      const run = only(await claimDue(store, strict, { now: 300 }));
      expect(run.traceId).toBe('a');
      await store.settle(run, endOf(done));
      expect(traceIdsOf(await claimDue(store, strict, { now: 300 }))).toEqual(['b']);
    });

    test('a handler that has no order any more has all its blocked runs unblocked, and no other handler', async () => {
      const store = await opened();
      await storeBlocked(store, 'handler');
      await storeBlocked(store, 'another');
      await store.unblock('handler');
      expect((await store.counts()).runs).toMatchObject({ due: 4, blocked: 2 });
      expect(traceIdsOf(await claimDue(store, none, { now: 499 }))).toEqual(['handler-2', 'handler-3']);
      expect(await claimDue(store, handlerOf('another', { order: 'none' }), { now: 499 })).toEqual([]);
    });

    test('with the order of the call, they are unblocked in order of arrival', async () => {
      const store = await opened();
      await storeBlocked(store, 'handler');
      await store.unblock('handler');
      expect((await store.counts()).runs).toMatchObject({ due: 3, blocked: 0 });
      expect(traceIdsOf(await claimDue(store, handlerOf(), { now: 499 }))).toEqual([
        'handler-2',
        'handler-3',
      ]);
      expect(traceIdsOf(await claimDue(store, handlerOf(), { now: 500 }))).toEqual(['handler-1']);
    });

    test('a run that is removed with its event unblocks the next of its call', async () => {
      const store = await opened();
      const first = await storeBlocked(store, 'handler');
      await store.retention.eraseEvents([first.sequence], presentTime);
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      expect(traceIdsOf(await claimDue(store, strict, { now: 1 }))).toEqual(['handler-2']);
    });
  });
}

/** Stores three runs of a call and handler: one that has not begun, and two that it blocks. Returns the first. */
async function storeBlocked(store: Store, name: string): Promise<ClaimedRun> {
  const records = [1, 2, 3].map((place) => eventOf(`${name}-${place}`, { callId: `call of ${name}` }));
  const [first, ...others] = await claimedRuns(store, records, handlerOf(name, { order: 'strict' }));
  if (!first) throw new Error('nothing was claimed');
  await store.settle(first, endOf(dueAt(500), { attempts: 0 }));
  for (const run of others) await store.requeue(run);
  return first;
}
