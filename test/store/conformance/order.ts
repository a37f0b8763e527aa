/** What every store must do for the order of the runs of one call. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, dueAt, eventOf, only, settlementOf } from '../parts.ts';

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
  });
}
