/** What every store must do with runs that a replay requeues. */
import { describe, expect, test } from 'vitest';
import type { Order } from '../../../src/dispatch/handling.ts';
import type { ReplayCandidate } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, eventOf, only, presentTime, settlementOf } from '../parts.ts';

const request = { by: undefined, reason: undefined, filter: '{}', now: 0 };
const atOnce = { onlyDead: true, joins: new Set<string>(), spread: undefined };

/** Runs this part of the suite. */
export function describeReplaying(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: replaying`, () => {
    test('tells of a replay how many of its runs are open, done and dead', async () => {
      const store = await opened();
      const events = await claimedOf(store, ...['a', 'b', 'c', 'other'].map((traceId) => eventOf(traceId)));
      for (const event of events) await store.settle(settlementOf(event, dead));
      const candidates = events.map(({ sequence, callId }) => ({ ...run, sequence, callId }));
      const other = await store.events.beginReplay(request);
      await store.events.requeue({ ...atOnce, candidates: candidates.slice(3), replay: other });
      const replay = await store.events.beginReplay(request);
      expect(await store.events.replayed(replay)).toEqual({ open: 0, done: 0, dead: 0 });
      await store.events.requeue({ ...atOnce, candidates, replay });
      expect(await store.events.replayed(replay)).toEqual({ open: 3, done: 0, dead: 0 });
      const [first, second] = await store.claimRuns('handler', 2, 1);
      if (!first || !second) throw new Error('two runs are due');
      expect(await store.events.replayed(replay)).toMatchObject({ open: 3 });
      await store.settle(settlementOf(first, done));
      await store.settle(settlementOf(second, dead));
      expect(await store.events.replayed(replay)).toEqual({ open: 1, done: 1, dead: 1 });
      expect(await store.events.replayed(other)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test('a run that another replay requeues is told of by that one', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, dead));
      const candidates = [{ ...run, sequence: event.sequence, callId: event.callId }];
      const first = await store.events.beginReplay(request);
      await store.events.requeue({ ...atOnce, candidates, replay: first });
      await store.settle(settlementOf(only(await store.claimRuns('handler', 1, 1)), dead));
      expect(await store.events.replayed(first)).toEqual({ open: 0, done: 0, dead: 1 });
      const second = await store.events.beginReplay(request);
      await store.events.requeue({ ...atOnce, candidates, replay: second });
      expect(await store.events.replayed(first)).toEqual({ open: 0, done: 0, dead: 0 });
      expect(await store.events.replayed(second)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test.each(orders)(
      'with order %s, what it requeues waits as that order requires',
      async (order, claims) => {
        const store = await opened();
        const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
        const events = await claimedOf(store, ...records);
        for (const event of events) await store.settle(settlementOf(event, dead));
        // The last one first, and sooner than those before it.
        for (const [place, { sequence, callId }] of events.toReversed().entries()) {
          const candidates = [{ ...run, order, sequence, callId }];
          const replay = await store.events.beginReplay(request);
          const spread = { delay: 100 * (place + 1), gap: 0 };
          await store.events.requeue({ ...atOnce, candidates, replay, spread });
        }
        const isStrict = order === 'strict';
        for (const [after, expected] of claims) {
          const runs = await store.claimRuns('handler', 10, presentTime + after, {
            isStrict,
            without: [],
            isOneACall: false,
          });
          expect(runs.map(({ traceId }) => traceId)).toEqual(expected);
          for (const claimed of runs) await store.settle(settlementOf(claimed, done, { isStrict }));
        }
        expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0 });
      },
    );

    test('spreads its runs over time, beginning when it was asked to', async () => {
      const store = await opened();
      const events = await claimedOf(store, eventOf('a'), eventOf('b'));
      for (const event of events) await store.settle(settlementOf(event, dead));
      const candidates = events.map(({ sequence, callId }) => ({ ...run, sequence, callId }));
      const replay = await store.events.beginReplay(request);
      await store.events.requeue({ ...atOnce, candidates, replay, spread: { delay: 100, gap: 50 } });
      expect(await store.nextDue('handler')).toBe(presentTime + 100);
      expect(await store.nextDue('handler', presentTime + 100)).toBe(presentTime + 150);
    });
  });
}

const run: Pick<ReplayCandidate, 'handler' | 'order' | 'isJoin'> = {
  handler: 'handler',
  order: 'call',
  isJoin: false,
};

/** Each order, and which runs are claimed together after how many milliseconds. */
const orders: readonly (readonly [Order, readonly (readonly [number, readonly string[]])[]])[] = [
  [
    'none',
    [
      [100, ['c']],
      [200, ['b']],
      [300, ['a']],
    ],
  ],
  ['call', [[100, ['a', 'b', 'c']]]],
  [
    'strict',
    [
      [300, ['c']],
      [300, ['a']],
      [300, ['b']],
    ],
  ],
];
