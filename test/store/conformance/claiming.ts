/** What every store must do when a process takes work. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dueAt, eventOf, only, presentTime, settlementOf } from '../parts.ts';

/** Runs this part of the suite. */
export function describeClaiming(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: claiming`, () => {
    test('in order of arrival, as many as asked for, none twice', async () => {
      const store = await opened();
      for (const traceId of ['c', 'a', 'b']) await store.record(eventOf(traceId));
      const claims = await Promise.all([store.claimEvents(2), store.claimEvents(2)]);
      expect(claims.map((claim) => claim.map(({ traceId }) => traceId))).toEqual([['c', 'a'], ['b']]);
      expect(await store.claimEvents(2)).toEqual([]);
    });

    test('due runs of one handler, those that are due, earliest first', async () => {
      const store = await opened();
      const events = await claimedOf(store, eventOf('a'), eventOf('b'), eventOf('c'));
      for (const [index, event] of events.entries()) {
        const at = [300, 100, 200][index] ?? 0;
        await store.settle(settlementOf(event, dueAt(at), { attempts: index + 1 }));
      }
      expect(await store.nextDue('handler')).toBe(100);
      expect(await store.nextDue('another')).toBeUndefined();
      expect(await store.claimRuns('handler', 10, 99)).toEqual([]);
      expect(await store.claimRuns('another', 10, 999)).toEqual([]);
      const runs = await store.claimRuns('handler', 10, 200);
      expect(runs).toMatchObject([
        { traceId: 'b', handler: 'handler', attempts: 2 },
        { traceId: 'c', handler: 'handler', attempts: 3 },
      ]);
      expect(await store.nextDue('handler')).toBe(300);
      expect(await store.claimRuns('handler', 1, 300)).toMatchObject([{ traceId: 'a' }]);
      expect(await store.claimRuns('handler', 10, 300)).toEqual([]);
    });

    test('due runs of a call of which enough are in flight are left to later', async () => {
      const store = await opened();
      for (const [index, callId] of ['busy', 'busy', 'another'].entries()) {
        const event = only(await claimedOf(store, eventOf(`trace-${index}`, { callId })));
        await store.settle(settlementOf(event, dueAt(1)));
      }
      const order = { isStrict: false, without: ['busy'], isOneACall: false };
      expect((await store.claimRuns('handler', 10, presentTime, order)).map(({ callId }) => callId)).toEqual([
        'another',
      ]);
      expect(await store.claimRuns('handler', 10, presentTime, { ...order, without: [] })).toHaveLength(2);
    });

    test('of each call one at the most, where that is asked for', async () => {
      const store = await opened();
      for (const [index, callId] of ['busy', 'busy', 'another', undefined, undefined].entries()) {
        await store.record(eventOf(`trace-${index}`, { callId }));
        await store.settle(settlementOf(only(await store.claimEvents(1)), dueAt(0)));
      }
      const order = { isStrict: false, without: [], isOneACall: true };
      const claimed = await store.claimRuns('handler', 10, presentTime, order);
      expect(claimed.map(({ traceId }) => traceId)).toEqual(['trace-0', 'trace-2', 'trace-3', 'trace-4']);
      expect(await store.claimRuns('handler', 10, presentTime, order)).toHaveLength(1);
    });

    test('a process that nobody shares with finds nothing to take over', async () => {
      const store = await opened();
      await claimedOf(store, eventOf('a'));
      expect(await store.keepAlive()).toEqual({ takenOver: 0 });
    });
  });
}
