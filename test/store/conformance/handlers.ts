/** What every store must do with the pauses of handlers, and what it says about what waits for each. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimedRun, dead, dueAt, endOf, eventOf, handlerOf } from '../parts.ts';

const pauseOf = (handler: string, since = 100) => ({ handler, since, by: undefined, reason: undefined });

/** Runs this part of the suite. */
export function describeHandlers(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: handlers`, () => {
    test('a pause holds until it is ended, with who and why', async () => {
      const store = await opened();
      const pause = { handler: 'crm', since: 100, by: 'ann\u0000', reason: 'the CRM moves' };
      expect(await store.handlers.pause(pause)).toEqual(pause);
      expect(await store.handlers.pause(pauseOf('apple'))).toEqual(pauseOf('apple'));
      expect(await store.handlers.paused()).toEqual([pauseOf('apple'), pause]);
      expect(await store.handlers.resume('crm')).toBe(true);
      expect(await store.handlers.paused()).toEqual([pauseOf('apple')]);
    });

    test('of two pauses the first holds, also if they come at once', async () => {
      const store = await opened();
      const pauses = await Promise.all([
        store.handlers.pause(pauseOf('crm', 100)),
        store.handlers.pause(pauseOf('crm', 200)),
      ]);
      expect(pauses).toEqual([pauseOf('crm', 100), pauseOf('crm', 100)]);
      expect(await store.handlers.resume('crm')).toBe(true);
      expect(await store.handlers.resume('crm')).toBe(false);
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

    test('a process that is alive is told with its handlers', async () => {
      const store = await opened();
      await store.announce(['crm', 'mail']);
      expect(await store.handlers.processes()).toMatchObject([{ handlers: ['crm', 'mail'], isThis: true }]);
    });
  });
}
