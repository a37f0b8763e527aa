/** What every store must do with runs that a replay requeues. */
import { describe, expect, test } from 'vitest';
import type { ReplayCandidate } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, eventOf, only, settlementOf } from '../parts.ts';

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
  });
}

const run: Pick<ReplayCandidate, 'handler' | 'order' | 'isJoin'> = {
  handler: 'handler',
  order: 'call',
  isJoin: false,
};
