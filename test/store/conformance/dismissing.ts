/** What every store must do with runs that a person dismisses. */
import { describe, expect, test } from 'vitest';
import type { DismissalWrite } from '../../../src/store/event-store.ts';
import type { Sequence } from '../../../src/store/run-key.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, dueAt, eventOf, only, presentTime, settlementOf } from '../parts.ts';

const dismissalOf = (
  sequences: readonly Sequence[],
  parts: Partial<DismissalWrite> = {},
): DismissalWrite => ({
  sequences,
  handler: 'handler',
  takesDead: true,
  takesWaiting: true,
  reason: 'dismissed: gone',
  now: presentTime + 1_000,
  ...parts,
});

const runOf = async (store: Store, traceId: string) => only((await store.events.get(traceId))?.runs ?? []);

/** Runs this part of the suite. */
export function describeDismissing(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: dismissing`, () => {
    test('settles as done what is dead, due or blocked, and the reason says both', async () => {
      const store = await opened();
      const [first, second, third] = await claimedOf(
        store,
        ...['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' })),
      );
      if (!first || !second || !third) throw new Error('nothing was claimed');
      await store.settle(settlementOf(first, dead, { attempts: 3 }));
      await store.settle(settlementOf(second, dueAt(500), { isStrict: true }));
      await store.settle(settlementOf(third, { kind: 'blocked' }, { attempts: 0, isStrict: true }));
      const step = dismissalOf([first.sequence, second.sequence, third.sequence]);
      const all = step.sequences.map((sequence) => ({ sequence, handler: 'handler' }));
      const before = await store.counts();
      expect(await store.events.wouldDismiss(step)).toEqual(all);
      expect(await store.counts()).toEqual(before);
      expect(await store.events.dismiss(step)).toEqual(all);
      const settledAt = presentTime + 1_000;
      const common = { state: 'done', dueAt: undefined, settledAt };
      expect(await runOf(store, 'a')).toMatchObject({
        ...common,
        attempts: 3,
        reason: 'dismissed: gone (its reason was: given up)',
      });
      expect(await runOf(store, 'b')).toMatchObject(common);
      expect(await runOf(store, 'c')).toMatchObject({ ...common, reason: 'dismissed: gone' });
      expect(await store.counts()).toMatchObject({
        events: { new: 0, open: 0, done: 3 },
        runs: { due: 0, blocked: 0, dead: 0 },
      });
      expect(await store.nextDue('handler')).toBeUndefined();
      expect(await store.events.dismiss(step)).toEqual([]);
    });

    test('takes what was asked for: of that handler, dead or waiting', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, dead, { handler: 'dead', last: false }));
      await store.settle(settlementOf(event, done, { handler: 'done', last: false }));
      await store.settle(settlementOf(event, dueAt(0), { handler: 'due' }));
      const would = async (parts: Partial<DismissalWrite>) => {
        const runs = await store.events.wouldDismiss(dismissalOf([event.sequence], parts));
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
      const event = only(await claimedOf(store, eventOf('a')));
      expect(await store.events.dismiss(dismissalOf([event.sequence]))).toEqual([]);
      await store.settle(settlementOf(event, dueAt(0)));
      const run = only(await store.claimRuns('handler', 1, 1));
      expect(await store.events.dismiss(dismissalOf([event.sequence]))).toEqual([]);
      expect(await store.settle(settlementOf(run, dead))).toBe('settled');
      expect(await store.events.dismiss(dismissalOf([event.sequence]))).toHaveLength(1);
    });

    test('lets the next of its call go, and only when it is the one that this waits for', async () => {
      const store = await opened();
      const records = ['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const [first, second, third, fourth] = await claimedOf(store, ...records);
      if (!first || !second || !third || !fourth) throw new Error('nothing was claimed');
      const isStrict = true;
      await store.settle(settlementOf(first, dueAt(500), { isStrict }));
      for (const event of [second, third, fourth]) {
        await store.settle(settlementOf(event, { kind: 'blocked' }, { attempts: 0, isStrict }));
      }
      await store.events.dismiss(dismissalOf([second.sequence]));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      await store.events.dismiss(dismissalOf([first.sequence]));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      const order = { isStrict, without: [], isOneACall: false };
      const run = only(await store.claimRuns('handler', 10, 0, order));
      expect(run.traceId).toBe('c');
      await store.settle(settlementOf(run, done, { isStrict }));
      expect(await store.claimRuns('handler', 10, 0, order)).toMatchObject([{ traceId: 'd' }]);
    });

    test('leaves what a replay has requeued to it, and is found by a later one', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, dead));
      const { sequence, callId } = event;
      const candidates = [{ sequence, handler: 'handler', callId, order: 'none', isJoin: false } as const];
      const filter = { by: undefined, reason: undefined, filter: '{}', now: presentTime };
      const replay = await store.events.beginReplay(filter);
      const write = { candidates, joins: new Set<string>(), replay, spread: undefined };
      await store.events.requeue({ ...write, onlyDead: true });
      expect(await store.events.dismiss(dismissalOf([sequence], { takesWaiting: false }))).toEqual([]);
      await store.events.dismiss(dismissalOf([sequence]));
      expect(await store.events.requeue({ ...write, onlyDead: true })).toEqual([]);
      expect(await store.events.requeue({ ...write, onlyDead: false })).toEqual(candidates);
      expect(await store.claimRuns('handler', 1, 1)).toMatchObject([{ traceId: 'a', attempts: 0 }]);
    });
  });
}
