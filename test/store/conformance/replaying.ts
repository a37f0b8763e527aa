/** What every store must do with runs that a replay requeues. */
import { describe, expect, test } from 'vitest';
import type { Order } from '../../../src/dispatch/handling.ts';
import type { EventRecord } from '../../../src/store/event-record.ts';
import type { ReplayCandidate } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedRuns,
  dead,
  done,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
  replayRequest,
  traceIdsOf,
} from '../parts.ts';

const atOnce = { onlyDead: true, joins: new Set<string>(), spread: undefined };

/** Runs this part of the suite. */
export function describeReplaying(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: replaying`, () => {
    test('tells of a replay how many of its runs are open, done and dead', async () => {
      const store = await opened();
      const candidates = await deadLetters(
        store,
        ['a', 'b', 'c', 'other'].map((traceId) => eventOf(traceId)),
      );
      const other = await store.audit.begin(replayRequest);
      await store.events.requeue({ ...atOnce, candidates: candidates.slice(3), replay: other });
      const replay = await store.audit.begin(replayRequest);
      expect(await store.events.replayed(replay)).toEqual({ open: 0, done: 0, dead: 0 });
      await store.events.requeue({ ...atOnce, candidates, replay });
      expect(await store.events.replayed(replay)).toEqual({ open: 3, done: 0, dead: 0 });
      const [first, second] = await claimDue(store, handlerOf(), { limit: 2 });
      if (!first || !second) throw new Error('two runs are due');
      expect(await store.events.replayed(replay)).toMatchObject({ open: 3 });
      await store.settle(first, endOf(done));
      await store.settle(second, endOf(dead));
      expect(await store.events.replayed(replay)).toEqual({ open: 1, done: 1, dead: 1 });
      expect(await store.events.replayed(other)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test('a run that another replay requeues is told of by that one', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a')]);
      const first = await store.audit.begin(replayRequest);
      await store.events.requeue({ ...atOnce, candidates, replay: first });
      await store.settle(only(await claimDue(store)), endOf(dead));
      expect(await store.events.replayed(first)).toEqual({ open: 0, done: 0, dead: 1 });
      const second = await store.audit.begin(replayRequest);
      await store.events.requeue({ ...atOnce, candidates, replay: second });
      expect(await store.events.replayed(first)).toEqual({ open: 0, done: 0, dead: 0 });
      expect(await store.events.replayed(second)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test('a run that goes back before it has begun is still told of by the replay that has requeued it', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a')]);
      const replay = await store.audit.begin(replayRequest);
      await store.events.requeue({ ...atOnce, candidates, replay });
      await store.requeue(only(await claimDue(store)));
      expect(await store.events.replayed(replay)).toMatchObject({ open: 1 });
      expect(await claimDue(store)).toMatchObject([{ attempts: 0, replay: { id: replay } }]);
    });

    test.each(orders)(
      'with order %s, what it requeues waits as that order requires',
      async (order, claims) => {
        const store = await opened();
        const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
        const letters = await deadLetters(store, records, order);
        // The last one first, and sooner than those before it.
        for (const [place, letter] of letters.toReversed().entries()) {
          const candidates = [letter];
          const replay = await store.audit.begin(replayRequest);
          const spread = { delay: 100 * (place + 1), gap: 0 };
          await store.events.requeue({ ...atOnce, candidates, replay, spread });
        }
        for (const [after, expected] of claims) {
          const handler = handlerOf('handler', { order });
          const runs = await claimDue(store, handler, { now: presentTime + after });
          expect(traceIdsOf(runs)).toEqual(expected);
          for (const run of runs) await store.settle(run, endOf(done));
        }
        expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0 });
      },
    );

    test('spreads its runs over time, beginning when it was asked to', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a'), eventOf('b')]);
      const replay = await store.audit.begin(replayRequest);
      await store.events.requeue({ ...atOnce, candidates, replay, spread: { delay: 100, gap: 50 } });
      expect(await store.nextDue('handler')).toBe(presentTime + 100);
      expect(await store.nextDue('handler', presentTime + 100)).toBe(presentTime + 150);
    });
  });
}

/** Records events whose runs are dead letters, as a replay would requeue them. */
async function deadLetters(
  store: Store,
  records: readonly EventRecord[],
  order: Order = 'call',
): Promise<ReplayCandidate[]> {
  const runs = await claimedRuns(store, records, handlerOf('handler', { order }));
  for (const run of runs) await store.settle(run, endOf(dead));
  return runs.map(({ sequence, callId, handler }) => ({ sequence, callId, handler, order, isJoin: false }));
}

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
