/** What every store must do for the order of the runs of one call. */
import { describe, expect, test } from 'vitest';
import type { ClaimedEvent, ClaimedRun } from '../../../src/store/claims.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, dueAt, eventOf, only, presentTime, settlementOf } from '../parts.ts';

/** Runs this part of the suite. */
export function describeOrder(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: order`, () => {
    test('a strict run that is settled lets the next of its call go, one at a time', async () => {
      const store = await opened();
      const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const [first, second, third] = await claimedOf(store, ...records);
      if (!first || !second || !third) throw new Error('nothing was claimed');
      const isStrict = true;
      await store.settle(settlementOf(first, dueAt(500), { isStrict }));
      await store.settle(settlementOf(second, { kind: 'blocked' }, { attempts: 0, isStrict }));
      await store.settle(settlementOf(third, { kind: 'blocked' }, { attempts: 0, isStrict }));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      for (const traceId of ['a', 'b', 'c']) {
        const run = only(await store.claimRuns('handler', 10, 1_000));
        expect(run.traceId).toBe(traceId);
        await store.settle(settlementOf(run, traceId === 'b' ? dead : done, { isStrict }));
      }
      expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0, dead: 1 });
    });

    test('a run that would wait for nothing is due at once', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, { kind: 'blocked' }, { attempts: 0, isStrict: true }));
      expect(await store.claimRuns('handler', 10, 1)).toHaveLength(1);
    });

    test('a later event of the call is told which runs before it are open', async () => {
      const store = await opened();
      const first = only(await claimedOf(store, eventOf('a', { callId: 'call-1' })));
      await store.settle(settlementOf(first, dueAt(100), { attempts: 4 }));
      const events = await claimedOf(
        store,
        eventOf('b', { callId: 'call-1' }),
        eventOf('c', { callId: 'call-2' }),
      );
      expect(events[0]?.openRuns).toMatchObject([{ handler: 'handler', attempts: 4 }]);
      expect(events[1]?.openRuns).toEqual([]);
    });

    test('a run that follows another is due with it, and after it', async () => {
      const store = await opened();
      const first = only(await claimedOf(store, ofCall('a')));
      await store.settle(settlementOf(first, dueAt(300), { attempts: 0 }));
      const second = only(await claimedOf(store, ofCall('b')));
      await follow(store, second);
      expect(await store.claimRuns('handler', 10, 299)).toEqual([]);
      expect(traceIdsOf(await store.claimRuns('handler', 10, 300))).toEqual(['a', 'b']);
    });

    test('of several runs before it that have not begun, it follows the one that is due last', async () => {
      const store = await opened();
      for (const [traceId, attempts, at] of [
        ['begun', 2, 900],
        ['later', 0, 300],
        ['sooner', 0, 200],
      ] as const) {
        const event = only(await claimedOf(store, ofCall(traceId)));
        await store.settle(settlementOf(event, dueAt(at), { attempts }));
      }
      await follow(store, only(await claimedOf(store, ofCall('next'))));
      expect(traceIdsOf(await store.claimRuns('handler', 10, 299))).toEqual(['sooner']);
      expect(traceIdsOf(await store.claimRuns('handler', 10, 300))).toEqual(['later', 'next']);
      expect(traceIdsOf(await store.claimRuns('handler', 10, 900))).toEqual(['begun']);
    });

    test('a run that is claimed and has not begun still goes before a later event of the call', async () => {
      const store = await opened();
      const first = only(await claimedOf(store, ofCall('a')));
      await store.settle(settlementOf(first, dueAt(0), { attempts: 0 }));
      await store.claimRuns('handler', 10, presentTime);
      const { openRuns } = only(await claimedOf(store, ofCall('b')));
      expect(openRuns).toContainEqual(expect.objectContaining({ handler: 'handler', attempts: 0 }));
    });

    test('without an order a run goes although an earlier one of its call waits', async () => {
      const store = await opened();
      await storeDue(store, { a: 300, b: 100 });
      expect(traceIdsOf(await store.claimRuns('handler', 10, 200))).toEqual(['b']);
    });

    test('claimed strictly, a run waits for the earlier ones of its handler and call, and for no others', async () => {
      const store = await opened();
      await storeDue(store, { a: 300, b: 100 });
      const [ofAnother, ofNone] = await claimedOf(
        store,
        eventOf('of another', { callId: 'call-2' }),
        eventOf('of none', { callId: undefined }),
      );
      if (!ofAnother || !ofNone) throw new Error('nothing was claimed');
      for (const event of [ofAnother, ofNone]) await store.settle(settlementOf(event, dueAt(100)));
      const otherwise = only(await claimedOf(store, ofCall('c')));
      await store.settle(settlementOf(otherwise, dueAt(100), { handler: 'another' }));
      const claimed = await store.claimRuns('handler', 10, 200, strictly);
      expect(traceIdsOf(claimed)).toEqual(['of another', 'of none']);
      expect(traceIdsOf(await store.claimRuns('another', 10, 200, strictly))).toEqual(['c']);
      const run = only(await store.claimRuns('handler', 10, 300, strictly));
      expect(run.traceId).toBe('a');
      await store.settle(settlementOf(run, done, { isStrict: true }));
      expect(traceIdsOf(await store.claimRuns('handler', 10, 300, strictly))).toEqual(['b']);
    });

    test('a handler that has no order any more has all its blocked runs unblocked, and no other handler', async () => {
      const store = await opened();
      await storeBlocked(store, 'handler');
      await storeBlocked(store, 'another');
      await store.unblock('handler', 'none');
      expect((await store.counts()).runs).toMatchObject({ due: 4, blocked: 2 });
      expect(traceIdsOf(await store.claimRuns('handler', 10, 499))).toEqual(['handler-2', 'handler-3']);
      expect(await store.claimRuns('another', 10, 499)).toEqual([]);
    });

    test('with the order of the call, they are unblocked and follow the run that they waited for', async () => {
      const store = await opened();
      await storeBlocked(store, 'handler');
      await store.unblock('handler', 'call');
      expect((await store.counts()).runs).toMatchObject({ due: 3, blocked: 0 });
      expect(await store.claimRuns('handler', 10, 499)).toEqual([]);
      expect(traceIdsOf(await store.claimRuns('handler', 10, 500))).toEqual([
        'handler-1',
        'handler-2',
        'handler-3',
      ]);
    });

    test('strictly, only the first of a call is unblocked, if no other run of it is open', async () => {
      const store = await opened();
      const first = await storeBlocked(store, 'handler');
      await store.unblock('handler', 'strict');
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      // With the event goes the run whose settlement would have unblocked the next.
      await store.retention.eraseEvents([first.sequence], presentTime);
      await store.unblock('handler', 'strict');
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      expect(traceIdsOf(await store.claimRuns('handler', 10, 1, strictly))).toEqual(['handler-2']);
    });
  });
}

const strictly = { isStrict: true, without: [], isOneACall: false };

const ofCall = (traceId: string) => eventOf(traceId, { callId: 'call-1' });

const traceIdsOf = (runs: readonly ClaimedRun[]) => runs.map(({ traceId }) => traceId);

/** Leaves an event's run for later, as the order `call` asks for: behind the unbegun run that is due last. */
async function follow(store: Store, event: ClaimedEvent): Promise<void> {
  const unbegun = event.openRuns.filter(({ handler, attempts }) => handler === 'handler' && attempts === 0);
  const last = Math.max(...unbegun.map((run) => run.dueAt));
  await store.settle(settlementOf(event, { kind: 'following', dueAt: last }, { attempts: 0 }));
}

/** Stores a run for each event of one call, due at its time. */
async function storeDue(store: Store, times: Readonly<Record<string, number>>): Promise<void> {
  for (const [traceId, at] of Object.entries(times)) {
    await store.settle(settlementOf(only(await claimedOf(store, ofCall(traceId))), dueAt(at)));
  }
}

/** Stores three runs of a call and handler: one that has not begun, and two that it blocks. Returns the first event. */
async function storeBlocked(store: Store, handler: string): Promise<ClaimedEvent> {
  const records = [1, 2, 3].map((place) => eventOf(`${handler}-${place}`, { callId: `call of ${handler}` }));
  const [first, ...others] = await claimedOf(store, ...records);
  if (!first) throw new Error('nothing was claimed');
  const strict = { handler, attempts: 0, isStrict: true };
  await store.settle(settlementOf(first, dueAt(500), strict));
  for (const event of others) await store.settle(settlementOf(event, { kind: 'blocked' }, strict));
  return first;
}
