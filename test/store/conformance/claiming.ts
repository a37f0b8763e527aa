/** What every store must do when a process takes work. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRuns,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  record,
  recordEnded,
  traceIdsOf,
} from '../parts.ts';

/** Runs this part of the suite. */
export function describeClaiming(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: claiming`, () => {
    test('in order of arrival, as many as asked for, none twice', async () => {
      const store = await opened();
      for (const traceId of ['c', 'a', 'b']) await record(store, eventOf(traceId));
      const claims = await Promise.all([store.claimEvents(2), store.claimEvents(2)]);
      expect(claims.map(traceIdsOf)).toEqual([['c', 'a'], ['b']]);
      expect(await store.claimEvents(2)).toEqual([]);
    });

    test('due runs of one handler, those that are due, earliest first', async () => {
      const store = await opened();
      const claimed = await claimedRuns(
        store,
        ['a', 'b', 'c'].map((id) => eventOf(id)),
      );
      for (const [index, run] of claimed.entries()) {
        const at = [300, 100, 200][index] ?? 0;
        await store.settle(run, endOf(dueAt(at), { attempts: index + 1 }));
      }
      expect(await store.nextDue('handler')).toBe(100);
      expect(await store.nextDue('another')).toBeUndefined();
      expect(await claimDue(store, handlerOf(), { now: 99 })).toEqual([]);
      expect(await claimDue(store, handlerOf('another'), { now: 999 })).toEqual([]);
      const runs = await claimDue(store, handlerOf(), { now: 200 });
      expect(runs).toMatchObject([
        { traceId: 'b', handler: 'handler', attempts: 2 },
        { traceId: 'c', handler: 'handler', attempts: 3 },
      ]);
      expect(await store.nextDue('handler')).toBe(300);
      expect(await claimDue(store, handlerOf(), { limit: 1, now: 300 })).toMatchObject([{ traceId: 'a' }]);
      expect(await claimDue(store, handlerOf(), { now: 300 })).toEqual([]);
    });

    test('due runs of a call of which enough are in flight are left to later', async () => {
      const store = await opened();
      for (const [index, callId] of ['busy', 'busy', 'another'].entries()) {
        await recordEnded(store, eventOf(`trace-${index}`, { callId }), dueAt(1));
      }
      const claimed = await claimDue(store, handlerOf(), { without: ['busy'] });
      expect(claimed.map(({ callId }) => callId)).toEqual(['another']);
      expect(await claimDue(store)).toHaveLength(2);
    });

    test('of each call one at the most, where that is asked for', async () => {
      const store = await opened();
      for (const [index, callId] of ['busy', 'busy', 'another', undefined, undefined].entries()) {
        await recordEnded(store, eventOf(`trace-${index}`, { callId }), dueAt(0));
      }
      const claim = () => claimDue(store, handlerOf(), { isOneACall: true });
      expect(traceIdsOf(await claim())).toEqual(['trace-0', 'trace-2', 'trace-3', 'trace-4']);
      expect(await claim()).toHaveLength(1);
    });

    test('waiting events in their order, up to what fits into memory, and the others later', async () => {
      const store = await opened();
      const body = Buffer.alloc(5 * 1024 * 1024);
      for (const traceId of ['a', 'b', 'c'])
        await record(store, eventOf(traceId, { callId: 'call-1', body }));
      expect(traceIdsOf(await store.claimEvents(10))).toEqual(['a', 'b']);
      expect(traceIdsOf(await store.claimEvents(10))).toEqual(['c']);
    });

    test('due runs up to a number of bytes, and one in any case', async () => {
      const store = await opened();
      const body = Buffer.alloc(100, 'x');
      for (let index = 0; index < 5; index += 1)
        await recordEnded(store, eventOf(`trace-${index}`, { body }), dueAt(0));
      expect(traceIdsOf(await claimDue(store, handlerOf(), { bytes: 150 }))).toEqual(['trace-0', 'trace-1']);
      expect(traceIdsOf(await claimDue(store, handlerOf(), { bytes: 0 }))).toEqual(['trace-2']);
      expect(await claimDue(store)).toHaveLength(2);
    });

    test('a process that shares its inbox with no other finds nothing to take over', async () => {
      const store = await opened();
      await claimedOf(store, eventOf('a'));
      expect(await store.keepAlive()).toEqual({ takenOver: 0 });
    });
  });
}
