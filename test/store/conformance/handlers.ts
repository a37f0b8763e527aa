/** What every store must do with the pauses of handlers, and what it says about what waits for each. */
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedRun, dead, dueAt, endOf, eventOf, handlerOf } from '../parts.ts';

const pauseOf = (handler: string, since = 100) => ({ handler, since, by: undefined, reason: undefined });

/** Runs this part of the suite. */
export function describeHandlers(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: handlers`, () => {
    test('a pause holds until it is ended, with who and why', async () => {
      const store = await opened();
      const pause = { handler: 'crm', since: 100, by: 'ann', reason: 'the CRM moves' };
      expect(await store.handlers.pause(pause)).toEqual(pause);
      expect(await store.handlers.pause(pauseOf('apple'))).toEqual(pauseOf('apple'));
      expect(await store.handlers.paused()).toEqual([pauseOf('apple'), pause]);
      expect(await store.handlers.resume('crm')).toBe(true);
      expect(await store.handlers.paused()).toEqual([pauseOf('apple')]);
    });

    test('a pause stays when its person and reason are erased', async () => {
      const store = await opened();
      await store.handlers.pause({ ...pauseOf('crm'), by: 'ann', reason: 'anna has called' });
      await store.handlers.pause({ ...pauseOf('mail'), by: 'bob' });
      await store.handlers.erasePause('crm');
      expect(await store.handlers.paused()).toEqual([pauseOf('crm'), { ...pauseOf('mail'), by: 'bob' }]);
    });

    test('of two pauses the first holds, also if they come at once', async () => {
      const store = await opened();
      const pauses = await Promise.all([
        store.handlers.pause(pauseOf('crm', 100)),
        store.handlers.pause(pauseOf('crm', 200)),
      ]);
      // Which of the two comes first is the store's affair, if they come at once; a later one is not the first.
      const [first] = pauses;
      expect([pauseOf('crm', 100), pauseOf('crm', 200)]).toContainEqual(first);
      expect([...pauses, await store.handlers.pause(pauseOf('crm', 300))]).toEqual([first, first, first]);
      expect(await store.handlers.resume('crm')).toBe(true);
      expect(await store.handlers.resume('crm')).toBe(false);
    });

    test('attempts of a handler with a rate get slots one after the other', async () => {
      const store = await opened();
      const gap = 4_000;
      const reserve = async (handler: string, count: number) =>
        Math.round((await store.handlers.reserveStarts({ handler, count, gap })) / gap);
      expect(await reserve('crm', 1)).toBe(0);
      const both = await Promise.all([reserve('crm', 1), reserve('crm', 1)]);
      expect(both.toSorted()).toEqual([1, 2]);
      expect(await reserve('mail', 100)).toBe(0);
    });

    test('a slot is not reserved long before it comes, because who asks may have ended by then', async () => {
      const store = await opened();
      const hour = 3_600_000;
      const reserve = async () =>
        Math.round((await store.handlers.reserveStarts({ handler: 'crm', count: 1, gap: hour })) / hour);
      expect([await reserve(), await reserve(), await reserve()]).toEqual([0, 1, 1]);
    });

    test('a slot is not much further ahead than a gap, whatever becomes of the clock', async () => {
      const store = await opened();
      const gap = 3_600_000;
      await store.handlers.reserveStarts({ handler: 'crm', count: 1_000, gap });
      expect(await store.handlers.reserveStarts({ handler: 'crm', count: 1, gap })).toBe(gap + 10_000);
    });

    test('runs that are not done are counted by handler and state', async () => {
      const store = await opened();
      const crm = handlerOf('crm');
      await claimedRun(store, eventOf('running'), crm);
      await store.settle(await claimedRun(store, eventOf('due'), crm), endOf(dueAt(5_000)));
      await store.settle(await claimedRun(store, eventOf('dead'), crm), endOf(dead));
      await store.settle(await claimedRun(store, eventOf('mail'), handlerOf('mail')), endOf(dead));
      await store.settle(await claimedRun(store, eventOf('done'), handlerOf('sms')), endOf({ kind: 'done' }));
      const none = { due: 0, running: 0, blocked: 0, dead: 0 };
      const counts = await store.handlers.runs();
      expect(counts).toMatchObject([
        { ...none, handler: 'crm', due: 1, dead: 1 },
        { ...none, handler: 'mail', dead: 1 },
      ]);
    });

    test('a living process is listed with its handlers', async () => {
      const store = await opened();
      await store.announce(['crm', 'mail']);
      expect(await store.handlers.processes()).toMatchObject([
        { handlers: ['crm', 'mail'], isThis: true, host: hostname(), pid: process.pid },
      ]);
    });
  });
}
