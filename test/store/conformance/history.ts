/** What every store must do with how much has happened. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedRun,
  dead,
  dueAt,
  endOf,
  eventOf,
  firstStep,
  only,
  presentTime,
  record,
  recordEnded,
} from '../parts.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const counts = new Map([
  ['accepted', 2],
  ['waiting', 5],
]);

/** Runs this part of the suite. */
export function describeHistory(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: history`, () => {
    const all = (store: Store, resolution: 'minute' | 'hour') =>
      store.history.list(resolution, 0, Number.MAX_SAFE_INTEGER);

    test('adds up what is counted, and keeps the most that has waited', async () => {
      const store = await opened();
      await Promise.all([
        store.history.add(hour + 1, counts, true),
        store.history.add(hour + minute - 1, new Map([['waiting', 3]]), true),
        store.history.add(hour + 2, counts, true),
      ]);
      await store.history.add(hour + minute, counts, true);
      expect(await all(store, 'minute')).toEqual([
        { at: hour, name: 'accepted', count: 4 },
        { at: hour, name: 'waiting', count: 5 },
        { at: hour + minute, name: 'accepted', count: 2 },
        { at: hour + minute, name: 'waiting', count: 5 },
      ]);
      expect(await all(store, 'hour')).toEqual([
        { at: hour, name: 'accepted', count: 6 },
        { at: hour, name: 'waiting', count: 5 },
      ]);
      expect(await store.history.list('minute', hour + minute, hour + 2 * minute)).toHaveLength(2);
      expect(await store.history.list('minute', hour, hour + minute)).toHaveLength(2);
    });

    test('adds up what several processes have claimed, and keeps the most that waited in a minute', async () => {
      const store = await opened();
      const waits = (waiting: number, held: number) =>
        new Map([
          ['waiting', waiting],
          ['held', held],
        ]);
      await Promise.all([waits(5, 1), waits(5, 2)].map((own) => store.history.add(hour, own, true)));
      await store.history.add(hour + minute, waits(0, 4), true);
      expect(await all(store, 'minute')).toEqual([
        { at: hour, name: 'held', count: 3 },
        { at: hour, name: 'waiting', count: 5 },
        { at: hour + minute, name: 'held', count: 4 },
        { at: hour + minute, name: 'waiting', count: 0 },
      ]);
      expect(await all(store, 'hour')).toEqual([{ at: hour, name: 'waiting', count: 8 }]);
    });

    test('keeps the counts of each handler apart from those of the receiver, and as long', async () => {
      const store = await opened();
      const ofHandlers = (done: number) =>
        new Map([
          ['crm', new Map([['done', done]])],
          ['mail', new Map([['dead', 1]])],
        ]);
      const whole = new Map([['done', 1]]);
      await Promise.all([1, 2].map((done) => store.history.add(hour, whole, true, ofHandlers(done))));
      await store.history.add(hour + minute, whole, true, ofHandlers(4));
      const of = (handler: string, resolution: 'minute' | 'hour') =>
        store.history.list(resolution, 0, Number.MAX_SAFE_INTEGER, handler);
      expect(await of('crm', 'minute')).toEqual([
        { at: hour, name: 'done', count: 3 },
        { at: hour + minute, name: 'done', count: 4 },
      ]);
      expect(await of('crm', 'hour')).toEqual([{ at: hour, name: 'done', count: 7 }]);
      expect(await of('mail', 'hour')).toEqual([{ at: hour, name: 'dead', count: 3 }]);
      expect(await of('other', 'hour')).toEqual([]);
      expect(await all(store, 'hour')).toEqual([{ at: hour, name: 'done', count: 3 }]);

      await store.history.add(hour + 2 * day + minute, whole, true);
      expect((await of('crm', 'minute')).map(({ at }) => at)).toEqual([hour + minute]);
      expect((await of('mail', 'hour')).map(({ at }) => at)).toEqual([hour]);
      await store.history.add(hour + 91 * day, whole, true);
      expect([...(await of('crm', 'hour')), ...(await of('mail', 'minute'))]).toEqual([]);
    });

    test('lists only the kinds of counts that are asked for', async () => {
      const store = await opened();
      const names = ['accepted', 'done', 'done:crm', 'done:a:b', 'group:1', 'refused:too_old'];
      await store.history.add(hour, new Map(names.map((each) => [each, 1])), true);
      const listed = async (...kinds: readonly string[]) => {
        const rows = await store.history.list('hour', 0, Number.MAX_SAFE_INTEGER, '', kinds);
        return rows.map((row) => row.name);
      };
      expect(await listed('accepted', 'done')).toEqual(['accepted', 'done']);
      expect(await listed('done:')).toEqual(['done:a:b', 'done:crm']);
      expect(await listed('refused:', 'done')).toEqual(['done', 'refused:too_old']);
      expect(await listed('refused', 'group', 'other')).toEqual([]);
      expect(await listed()).toEqual([]);
      expect(await all(store, 'hour')).toHaveLength(names.length);
    });

    test('counts the first 50 groups of failures of an hour, however many its minutes have', async () => {
      const store = await opened();
      const groups = (first: number, count: number) =>
        new Map(Array.from({ length: count }, (_, index) => [`group:${first + index}`, 1]));
      await store.history.add(hour, groups(100, 30), true);
      await store.history.add(hour + minute, groups(120, 50), true);
      await store.history.add(hour + 2 * minute, groups(140, 50), true);
      await store.history.add(2 * hour, groups(190, 1), true);
      const counted = (await all(store, 'hour')).filter(({ at }) => at === hour);
      expect(counted.map((row) => row.name)).toEqual([...groups(100, 50).keys()]);
      // Those that it counts are counted in each of its minutes.
      expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(30 + 30 + 10);
      expect(await all(store, 'minute')).toHaveLength(30 + 50 + 50 + 1);
      expect((await all(store, 'hour')).filter(({ at }) => at === 2 * hour)).toHaveLength(1);
    });

    test('keeps minutes for two days and hours for 90', async () => {
      const store = await opened();
      await store.history.add(0, new Map([['done', 1]]), true);
      await store.history.add(2 * day, new Map([['done', 1]]), true);
      expect((await all(store, 'minute')).map(({ at }) => at)).toEqual([0, 2 * day]);
      await store.history.add(2 * day + 1, new Map([['done', 1]]), false);
      expect(await all(store, 'minute')).toHaveLength(2);
      await store.history.add(2 * day + 1, new Map([['done', 1]]), true);
      expect((await all(store, 'minute')).map(({ at }) => at)).toEqual([2 * day]);
      expect((await all(store, 'hour')).map(({ at }) => at)).toEqual([0, 2 * day]);
      await store.history.add(90 * day + 1, new Map([['done', 1]]), true);
      expect((await all(store, 'hour')).map(({ at }) => at)).toEqual([2 * day, 90 * day]);
    });

    test('says what waits, and since when', async () => {
      const store = await opened();
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 0, oldest: undefined });
      const due = await claimedRun(store, eventOf('a', { receivedAt: 100 }));
      const later = await claimedRun(store, eventOf('b', { receivedAt: 200 }));
      await store.settle(due, endOf(dueAt(0)));
      await store.settle(later, endOf(dueAt(presentTime + 1)));
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: 100 });
      await record(store, eventOf('c', { receivedAt: 300 }));
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 2, oldest: 100 });
      expect(await store.history.backlog(presentTime + 1)).toEqual({ waiting: 3, oldest: 100 });
    });

    test('a retry has waited since it was due again', async () => {
      const store = await opened();
      const retried = await claimedRun(store, eventOf('a', { receivedAt: 100 }));
      await store.settle(retried, endOf(dueAt(presentTime - 50)));
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: presentTime - 50 });
    });

    test('a retry that was claimed and requeued has waited since it was due', async () => {
      const store = await opened();
      await recordEnded(store, eventOf('a', { receivedAt: 100 }), dueAt(presentTime - 50));
      await store.requeue(only(await claimDue(store)));
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: presentTime - 50 });
    });

    test('a join has waited since its events were complete', async () => {
      const store = await opened();
      const join = { events: ['Started', 'Ended'], within: hour, runsAgain: true };
      for (const eventName of join.events) {
        const event = eventOf(eventName, { eventName, callId: 'call-1', receivedAt: 100 });
        await store.requeue(await claimedRun(store, event, { name: 'join', order: 'none', join }));
      }
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: presentTime });
    });

    test('a replayed run has waited since its replay has ended', async () => {
      const store = await opened();
      const replayed = await claimedRun(store, eventOf('a', { receivedAt: 100 }));
      await store.settle(replayed, endOf(dead));
      const step = await firstStep(store);
      const { sequence, callId, handler } = replayed;
      const candidate = { sequence, callId, handler, order: 'none', isJoin: false } as const;
      expect(await store.events.requeue({ candidates: [candidate], onlyDead: true, step })).toHaveLength(1);
      expect(await store.history.backlog(presentTime + 9)).toEqual({ waiting: 1, oldest: presentTime + 9 });
      await store.audit.end(step.id, presentTime + 5, { events: 1, runs: 1 });
      expect(await store.history.backlog(presentTime + 9)).toEqual({ waiting: 1, oldest: presentTime + 5 });
      expect(only(await claimDue(store))).toMatchObject({ waitsSince: presentTime + 5 });
    });

    test('a claimed run still waits since then', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a', { receivedAt: 100 }));
      expect(run).toMatchObject({ waitsSince: 100 });
      await store.settle(run, endOf(dueAt(0)));
      const again = only(await claimDue(store));
      expect(again).toMatchObject({ waitsSince: 100 });
      await store.settle(again, endOf(dueAt(presentTime - 50)));
      expect(only(await claimDue(store))).toMatchObject({ waitsSince: presentTime - 50 });
    });
  });
}
