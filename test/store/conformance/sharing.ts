/** The tests for stores whose data outlives them, or is shared by several stores. */
import { describe, expect, test } from 'vitest';
import { clockWithoutWriteTimeout } from '../../support/clock-without-write-timeout.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
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
  record,
  recordEnded,
  runOf,
  traceIdsOf,
} from '../parts.ts';
import { type StoreUnderTest, openedOf } from '../under-test.ts';
import { duplicatesOf, seenOf } from './duplicates.ts';
import { reconciledOf } from './reconciling.ts';

/** Runs this part of the suite. */
export function describeSharing(name: string, makeStore: () => StoreUnderTest): void {
  describe(`${name}: shared and kept`, () => {
    test('closing gives claims back, and what was recorded is there when it is opened again', async () => {
      const under = makeStore();
      const before = under.make(clockWithoutWriteTimeout);
      await before.open();
      await claimedOf(before, eventOf('a'));
      await before.pinScheme('scheme');
      await before.close();
      const store = await openedOf(under, clockWithoutWriteTimeout);
      expect(await record(store, eventOf('a'))).toBe('duplicate');
      expect(await store.pinnedScheme()).toBe('scheme');
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a', crashCount: 0 }]);
    });

    test('a retry that a stop has given back has waited since it was due', async () => {
      const under = makeStore();
      const before = under.make(new ManualClock(presentTime));
      await before.open();
      await recordEnded(before, eventOf('a', { receivedAt: 100 }), dueAt(presentTime - 50));
      only(await claimDue(before));
      await before.close();
      const store = await openedOf(under);
      expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: presentTime - 50 });
    });

    test(
      'a retry that was taken over from a dead process has waited since it was due',
      { tags: 'long' },
      async () => {
        const under = makeStore();
        const before = await openedOf(under);
        await recordEnded(before, eventOf('a', { receivedAt: 100 }), dueAt(presentTime - 50));
        await under.shared?.dieHolding();
        const store = await openedOf(under, clockWithoutWriteTimeout);
        await expect.poll(() => store.keepAlive()).toEqual({ takenOver: 1 });
        expect(await store.history.backlog(presentTime)).toEqual({ waiting: 1, oldest: presentTime - 50 });
      },
    );

    test('a delivery in one process and a reconciled event in another at once: exactly one is new', async () => {
      const under = makeStore();
      const stores = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const calls = Array.from({ length: 20 }, (_, index) => `call-${index}`);
      const both = await Promise.all(
        calls.map((callId, index) => {
          const records = [reconciledOf(callId), eventOf(`delivered-${index}`, { callId })];
          return Promise.all(
            stores.map((store, at) => record(store, records[(at + index) % 2] ?? eventOf('none'))),
          );
        }),
      );
      for (const results of both) expect(results.toSorted()).toEqual(['duplicate', 'new']);
    });

    test('duplicates that several processes count at once add up', async () => {
      const under = makeStore();
      const stores = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const events = Array.from({ length: 20 }, (_, index) => eventOf(`trace-${index}`));
      for (const event of events) await record(stores[0] ?? expect.unreachable(), event);
      const seen = events.map((event, index) => seenOf(event, 5_000 + index));
      await Promise.all(
        stores.flatMap(({ events: kept }) => [
          kept.addDuplicates(seen),
          kept.addDuplicates(seen.toReversed()),
        ]),
      );
      for (const store of stores)
        expect(await duplicatesOf(store, 'trace-7')).toEqual({
          count: 4,
          firstSeenAt: 5_007,
          lastSeenAt: 5_007,
        });
    });

    test('the claims of a dead process are taken over once, and counted as a crash', async () => {
      const under = makeStore();
      const store = await openedOf(under, clockWithoutWriteTimeout);
      await recordEnded(store, eventOf('a', { callId: 'call-1' }), dueAt(0));
      await record(store, eventOf('b', { callId: 'call-2' }));
      await under.shared?.dieHolding();
      expect(await store.claimEvents(10)).toEqual([]);
      await expect.poll(() => store.keepAlive()).toEqual({ takenOver: 2 });
      expect(await store.keepAlive()).toEqual({ takenOver: 0 });
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'b', crashCount: 1 }]);
      expect(await claimDue(store)).toMatchObject([{ traceId: 'a', attempts: 1, crashCount: 1 }]);
    });

    test(
      'only runs that a process had begun count the second death, and reading counts separately',
      { tags: 'long' },
      async () => {
        const under = makeStore();
        const store = await openedOf(under, clockWithoutWriteTimeout);
        await record(store, eventOf('a'));
        const die = async (how: 'dieHolding' | 'dieReading') => {
          await under.shared?.[how]();
          await expect.poll(() => store.keepAlive()).toEqual({ takenOver: 1 });
        };
        await die('dieHolding');
        await die('dieHolding');
        await die('dieReading');
        await die('dieHolding');
        // What has ended is not what a process dies of later.
        const reader = await openedOf(under, clockWithoutWriteTimeout);
        const tried = only(await reader.claimEvents(10));
        await reader.beginReading(tried);
        await reader.endReading(tried);
        await reader.close();
        await die('dieHolding');
        const event = only(await store.claimEvents(10));
        expect(event).toMatchObject({ traceId: 'a', crashCount: 2, readingCrashes: 1 });
        // A person who has it run again has perhaps made more memory for it.
        await store.settle(runOf(store, event), endOf(dead));
        const { sequence, callId } = event;
        const candidate = { sequence, callId, handler: 'handler', order: 'call', isJoin: false } as const;
        const step = await firstStep(store);
        await store.events.requeue({ candidates: [candidate], onlyDead: true, step });
        const run = only(await claimDue(store));
        expect(run).toMatchObject({ crashCount: 2, readingCrashes: 0 });
      },
    );

    test('a handler whose run was stored under an earlier claim does not get the event again', async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const event = only(await claimedOf(one, eventOf('a')));
      const states = { done, dead, due: dueAt(0), 'not begun': undefined };
      await endSiblings(one, event, states);
      await one.close();
      const again = only(await other.claimEvents(10));
      const handlers = Object.keys(states).map((handler) => handlerOf(handler));
      expect(other.runsOf(again, handlers)).toMatchObject([{ handler: 'not begun', attempts: 0 }]);
    });

    test(
      'an event every run of which has begun is not claimed again after a death, but its runs are',
      { tags: 'long' },
      async () => {
        const under = makeStore();
        const store = await openedOf(under, clockWithoutWriteTimeout);
        await record(store, eventOf('a'));
        await under.shared?.dieBeginning();
        await expect.poll(() => store.keepAlive()).toEqual({ takenOver: 2 });
        expect(await store.claimEvents(10)).toEqual([]);
        for (const handler of ['one', 'two']) {
          expect(await claimDue(store, handlerOf(handler))).toMatchObject([{ attempts: 1, crashCount: 1 }]);
        }
      },
    );

    test('each gets the handlers of the others that have published theirs', { tags: 'long' }, async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      await openedOf(under, clockWithoutWriteTimeout);
      expect(await one.announce(['orders', 'journal'])).toEqual([]);
      expect(await other.announce(['journal'])).toEqual([['orders', 'journal']]);
      await other.keepAlive();
      expect(await one.announce(['orders'])).toEqual([['journal']]);
      await other.close();
      expect(await one.announce(['orders'])).toEqual([]);
    });

    test('a call that another works on is left alone, and others are not', async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const first = await claimedRun(one, eventOf('a', { callId: 'call-1' }));
      await record(one, eventOf('b', { callId: 'call-1' }));
      await record(one, eventOf('c', { callId: 'call-2' }));
      expect(traceIdsOf(await other.claimEvents(10))).toEqual(['c']);
      await one.settle(first, endOf(done));
      expect(traceIdsOf(await other.claimEvents(10))).toEqual(['b']);
    });

    test('a run that has not begun waits for an earlier event of its call that was given back', async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const [, later, begun] = await claimedOf(
        one,
        ...['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' })),
      );
      if (!later || !begun) throw new Error('nothing was claimed');
      await one.requeue(runOf(one, later));
      await one.settle(runOf(one, begun), endOf(dueAt(0)));
      await one.close();
      await record(other, eventOf('d', { callId: 'call-1' }));
      expect(await claimDue(other)).toMatchObject([{ traceId: 'c' }]);
      expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'a' }, { traceId: 'd' }]);
      expect(await claimDue(other)).toMatchObject([{ traceId: 'b' }]);
    });

    test('what one sees for a join that another has taken over counts for nothing: a late event is late', async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      const events = ['a', 'b', 'late'];
      const join = handlerOf('join', { join: { events, within: 1_000, runsAgain: true } });
      const ofCall = (eventName: string) => eventOf(eventName, { eventName, callId: 'call-1' });
      await one.requeue(await claimedRun(one, ofCall('a'), join));
      await one.requeue(await claimedRun(one, ofCall('b'), join));
      const anyTime = { now: Number.MAX_SAFE_INTEGER };
      const lost = only(await claimDue(one, join, anyTime));
      await one.requeue(lost);
      const run = only(await claimDue(other, join, anyTime));
      expect((await other.calls.noteSeen(run, events))?.events).toHaveLength(2);
      const [late] = await claimedOf(other, ofCall('late'));
      expect(await one.calls.noteSeen(lost, events)).toBeUndefined();
      await other.requeue(runOf(other, late ?? expect.unreachable(), join));
      expect(await other.settle(run, endOf(done))).toBe('settled');
      expect(await claimDue(other, join, anyTime)).toMatchObject([{ traceId: 'late' }]);
    });

    test.each(['has claimed', 'has recorded'])(
      'an event is not claimed as it is written while another works on what it %s of its call',
      async (how) => {
        const under = makeStore();
        const [one, other] = [
          await openedOf(under, clockWithoutWriteTimeout),
          await openedOf(under, clockWithoutWriteTimeout),
        ];
        const first = eventOf('a', { callId: 'call-1' });
        if (how === 'has claimed') await claimedOf(one, first);
        else expect(await one.record(first, true).claimed).toBeDefined();
        const claimed: string[] = [];
        for (const [traceId, callId] of [
          ['b', 'call-2'],
          ['c', 'call-2'],
          ['d', 'call-1'],
        ] as const) {
          if (await other.record(eventOf(traceId, { callId }), true).claimed) claimed.push(traceId);
        }
        expect(claimed).toEqual(['b', 'c']);
      },
    );

    test('one store notices what another has changed', async () => {
      const under = makeStore();
      const [one, other] = [
        await openedOf(under, clockWithoutWriteTimeout),
        await openedOf(under, clockWithoutWriteTimeout),
      ];
      let noticed = 0;
      const unsubscribe = one.subscribe(() => (noticed += 1));
      // What opening them has changed may be noticed late; where nothing changes, nothing is noticed.
      for (let earlier = -1; earlier < noticed;) {
        earlier = noticed;
        await one.keepAlive();
      }
      const before = noticed;
      await record(other, eventOf('a'));
      await one.keepAlive();
      expect(noticed).toBe(before + 1);
      unsubscribe();
      await record(other, eventOf('b'));
      await one.keepAlive();
      expect(noticed).toBe(before + 1);
    });

    test('locked by another, a write waits and then succeeds', async () => {
      const clock = new ManualClock();
      const under = makeStore();
      const store = under.make(clock);
      await store.open();
      const unlock = await under.shared?.lock();
      const writing = record(store, eventOf('a'));
      // The write waits without blocking the event loop.
      expect(await Promise.race([writing, turns(50).then(() => 'waiting')])).toBe('waiting');
      await unlock?.();
      expect(await writing).toBe('new');
      await store.close();
    });

    test('locked for longer than a sender waits, it rejects; what is written later is claimed all the same', async () => {
      const clock = new ManualClock();
      const under = makeStore();
      const store = under.make(clock);
      await store.open();
      const unlock = await under.shared?.lock();
      const outcome = record(store, eventOf('a')).then(
        () => 'recorded',
        () => 'rejected',
      );
      await turns(50);
      clock.advance(900);
      expect(await Promise.race([outcome, turn().then(() => 'waiting')])).toBe('rejected');
      await unlock?.();
      expect(await record(store, eventOf('b'))).toBe('new');
      // Waits for what became of the first copy, if that is still on its way. Either may have come first: they are of two calls.
      await record(store, eventOf('a'));
      const claimed = traceIdsOf(await store.claimEvents(10));
      expect(claimed.toSorted()).toEqual(['a', 'b']);
      await store.close();
    });

    test(
      'locked by another, it takes no more than memory may hold, refuses the rest at once, and recovers',
      { tags: 'long' },
      async () => {
        const under = makeStore();
        // A clock that stands still: on a busy machine, the writes take longer than their senders wait.
        const store = under.make(new ManualClock());
        await store.open();
        const isOverloaded = () => store.isOverloaded?.() === true;
        const unlock = await under.shared?.lock();
        const waiting: Promise<'new' | 'duplicate'>[] = [];
        const body = Buffer.alloc(1024 * 1024, 'x');
        while (!isOverloaded() && waiting.length < most) {
          waiting.push(record(store, eventOf(`trace-${waiting.length}`, { body })));
        }
        expect(waiting.length).toBeLessThan(most);
        await expect(record(store, eventOf('refused', { body }))).rejects.toThrow();
        await unlock?.();
        // On a busy machine, the lock may be held for longer than a write waits.
        const outcomes = await Promise.allSettled(waiting);
        expect(isOverloaded()).toBe(false);
        for (const [index, { status }] of outcomes.entries()) {
          const again = record(store, eventOf(`trace-${index}`, { body }));
          expect(await again).toBe(status === 'fulfilled' ? 'duplicate' : 'new');
        }
        expect(await record(store, eventOf('refused', { body }))).toBe('new');
        await store.close();
      },
    );
  });
}

/** More megabytes than a store may keep in memory. */
const most = 256;

async function turns(count: number): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}
