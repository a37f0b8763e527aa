/** What every store must do when a process takes work. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dueAt, eventOf, settlementOf } from '../parts.ts';

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

    test('a process that nobody shares with finds nothing to take over', async () => {
      const store = await opened();
      await claimedOf(store, eventOf('a'));
      expect(await store.keepAlive()).toEqual({ takenOver: 0 });
    });
  });
}
