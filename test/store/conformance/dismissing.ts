/** What every store must do with runs that a person dismisses. */
import { describe, expect, test } from 'vitest';
import type { DismissalWrite } from '../../../src/store/event-store.ts';
import type { Sequence } from '../../../src/store/event-record.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  claimedRuns,
  dead,
  done,
  dueAt,
  endOf,
  endSiblings,
  eventOf,
  firstStep,
  handlerOf,
  only,
  presentTime,
} from '../parts.ts';

const dismissalOf = async (
  store: Store,
  sequences: readonly Sequence[],
  parts: Partial<DismissalWrite> = {},
): Promise<DismissalWrite> => ({
  step: await firstStep(store),
  sequences,
  handler: 'handler',
  takesDead: true,
  takesWaiting: true,
  reason: 'dismissed: gone',
  now: presentTime + 1_000,
  ...parts,
});

const strict = handlerOf('handler', { order: 'strict' });

const keptRunOf = async (store: Store, traceId: string) =>
  only((await store.events.get(traceId))?.runs ?? []);

/** Runs this part of the suite. */
export function describeDismissing(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: dismissing`, () => {
    test('settles as done what is dead, due or blocked, and the reason says both', async () => {
      const store = await opened();
      const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const [first, second, third] = await claimedRuns(store, records, strict);
      if (!first || !second || !third) throw new Error('nothing was claimed');
      await store.settle(first, endOf(dead, { attempts: 3 }));
      await store.settle(second, endOf(dueAt(500)));
      await store.requeue(third);
      const step = await dismissalOf(store, [first.sequence, second.sequence, third.sequence]);
      const all = step.sequences.map((sequence) => ({ sequence, handler: 'handler' }));
      const before = await store.counts();
      expect(await store.events.wouldDismiss(step)).toEqual(all);
      expect(await store.counts()).toEqual(before);
      expect(await store.events.dismiss(step)).toEqual(all);
      const settledAt = presentTime + 1_000;
      const common = { state: 'done', dueAt: undefined, settledAt };
      expect(await keptRunOf(store, 'a')).toMatchObject({
        ...common,
        attempts: 3,
        reason: 'dismissed: gone (its reason was: given up)',
      });
      expect(await keptRunOf(store, 'b')).toMatchObject(common);
      expect(await keptRunOf(store, 'c')).toMatchObject({ ...common, reason: 'dismissed: gone' });
      expect(await store.counts()).toMatchObject({
        events: { new: 0, open: 0, done: 3 },
        runs: { due: 0, blocked: 0, dead: 0 },
      });
      expect(await store.nextDue('handler')).toBeUndefined();
      expect(await store.events.dismiss({ ...step, step: await firstStep(store) })).toEqual([]);
    });

    test('takes what was asked for: of that handler, dead or waiting', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await endSiblings(store, event, { dead, done, due: dueAt(0) });
      const would = async (parts: Partial<DismissalWrite>) => {
        const runs = await store.events.wouldDismiss(await dismissalOf(store, [event.sequence], parts));
        return runs.map(({ handler }) => handler);
      };
      expect(await would({ handler: undefined })).toEqual(['dead', 'due']);
      expect(await would({ handler: undefined, takesWaiting: false })).toEqual(['dead']);
      expect(await would({ handler: undefined, takesDead: false })).toEqual(['due']);
      expect(await would({ handler: 'due' })).toEqual(['due']);
      expect(await would({ handler: 'due', takesWaiting: false })).toEqual([]);
      expect(await would({ handler: 'another' })).toEqual([]);
    });

    test('leaves alone what is claimed, which can be settled after', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a'));
      const dismiss = async () => store.events.dismiss(await dismissalOf(store, [run.sequence]));
      expect(await dismiss()).toEqual([]);
      await store.settle(run, endOf(dueAt(0)));
      const stored = only(await claimDue(store));
      expect(await dismiss()).toEqual([]);
      expect(await store.settle(stored, endOf(dead))).toBe('settled');
      expect(await dismiss()).toHaveLength(1);
    });

    test('unblocks the next of its call, and only if that waits for this one', async () => {
      const store = await opened();
      const records = ['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const [first, second, third, fourth] = await claimedRuns(store, records, strict);
      if (!first || !second || !third || !fourth) throw new Error('nothing was claimed');
      await store.settle(first, endOf(dueAt(500)));
      for (const run of [second, third, fourth]) await store.requeue(run);
      await store.events.dismiss(await dismissalOf(store, [second.sequence]));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      await store.events.dismiss(await dismissalOf(store, [first.sequence]));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      const run = only(await claimDue(store, strict, { now: 0 }));
      expect(run.traceId).toBe('c');
      await store.settle(run, endOf(done));
      expect(await claimDue(store, strict, { now: 0 })).toMatchObject([{ traceId: 'd' }]);
    });

    test('leaves what a replay has requeued to it, and is found by a later one', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a'));
      await store.settle(run, endOf(dead));
      const { sequence, callId } = run;
      const candidates = [{ sequence, handler: 'handler', callId, order: 'none', isJoin: false } as const];
      const write = async () => ({ candidates, step: await firstStep(store) });
      await store.events.requeue({ ...(await write()), onlyDead: true });
      expect(
        await store.events.dismiss(await dismissalOf(store, [sequence], { takesWaiting: false })),
      ).toEqual([]);
      await store.events.dismiss(await dismissalOf(store, [sequence]));
      expect(await store.events.requeue({ ...(await write()), onlyDead: true })).toEqual([]);
      expect(await store.events.requeue({ ...(await write()), onlyDead: false })).toEqual(candidates);
      expect(await claimDue(store)).toMatchObject([{ traceId: 'a', attempts: 0 }]);
    });
  });
}
