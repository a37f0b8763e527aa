/** What every store must do as an attempt begins, and when it ends. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, dead, done, dueAt, eventOf, only, presentTime, settlementOf } from '../parts.ts';

/** Runs this part of the suite. */
export function describeSettling(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: settling`, () => {
    test('the last run that is done ends the event, and leaves no run behind', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      expect(await store.settle(settlementOf(event, done))).toBe('settled');
      expect(await store.counts()).toMatchObject({
        events: { new: 0, open: 0, done: 1 },
        runs: { due: 0, running: 0, blocked: 0, dead: 0 },
      });
    });

    test('an event is open while one of its runs is to be done, and done when none is', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, dueAt(0), { handler: 'one', last: false }));
      expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
      await store.settle(settlementOf(event, done, { handler: 'two' }));
      expect((await store.counts()).events).toEqual({ new: 0, open: 1, done: 0 });
      expect(await store.waitingHandlers()).toEqual(['one']);
      const run = only(await store.claimRuns('one', 10, 1));
      expect((await store.counts()).runs).toMatchObject({ due: 0, running: 1 });
      await store.settle(settlementOf(run, dead, { attempts: 2 }));
      expect(await store.counts()).toMatchObject({ events: { new: 0, open: 0, done: 1 }, runs: { dead: 1 } });
      expect(await store.waitingHandlers()).toEqual([]);
      const { events } = await store.events.list({ state: 'dead' }, { limit: 10, before: undefined });
      expect(only(only(events).runs.filter(({ state }) => state === 'dead'))).toMatchObject({
        handler: 'one',
        attempts: 2,
        reason: 'given up',
        settledAt: presentTime,
      });
    });

    test('what is not held any more is lost, and changes nothing', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, dueAt(0)));
      expect(await store.settle(settlementOf(event, done))).toBe('lost');
      const run = only(await store.claimRuns('handler', 1, 1));
      expect(await store.settle(settlementOf(run, done))).toBe('settled');
      expect(await store.settle(settlementOf(run, dueAt(0)))).toBe('lost');
      expect((await store.counts()).events.done).toBe(1);
    });

    test('with effects: both or neither', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      const effects: string[] = [];
      const failing = store.settleWith(settlementOf(event, done), () => {
        throw new Error('in the middle');
      });
      await expect(failing).rejects.toThrow('in the middle');
      expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
      expect(await store.settleWith(settlementOf(event, done), () => effects.push('first'))).toBe('settled');
      expect(await store.settleWith(settlementOf(event, done), () => effects.push('second'))).toBe('lost');
      expect(effects).toEqual(['first']);
    });

    test('reading is for who holds the event, or the run, and nobody else', async () => {
      const store = await opened();
      const { sequence, ...event } = only(await claimedOf(store, eventOf('a')));
      expect(await store.beginReading(sequence, undefined)).toBe(true);
      await store.endReading(sequence);
      expect(await store.beginReading(sequence, 'handler')).toBe(false);
      await store.settle(settlementOf({ sequence, ...event }, dueAt(0)));
      expect(await store.beginReading(sequence, undefined)).toBe(false);
      expect(await store.beginReading(sequence, 'handler')).toBe(false);
      await store.claimRuns('handler', 1, 1);
      expect(await store.beginReading(sequence, 'handler')).toBe(true);
      await store.endReading(sequence);
    });

    test('begin counts an attempt beforehand, for who holds the run and nobody else', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      const key = { sequence: event.sequence, callId: event.callId, handler: 'handler' };
      expect(await store.begin({ ...key, stored: false })).toBe(1);
      expect(await store.settle(settlementOf(event, dueAt(0), { stored: true, last: true }))).toBe('settled');
      expect(await store.begin({ ...key, stored: true })).toBeUndefined();
      expect(only(await store.claimRuns('handler', 1, 1)).attempts).toBe(1);
      expect(await store.begin({ ...key, stored: true })).toBe(2);
      expect(await store.begin({ ...key, handler: 'another', stored: true })).toBeUndefined();
    });

    test('finish ends an event for which there is nothing to run', async () => {
      const store = await opened();
      await store.finish(only(await claimedOf(store, eventOf('a'))).sequence);
      expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
    });
  });
}
