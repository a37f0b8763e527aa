/** The tests that every store must pass, whatever its database is. */
import { describe, expect, test } from 'vitest';
import { describeDismissing } from './conformance-dismissing.ts';
import { describeReplaying } from './conformance-replaying.ts';
import { describeSharing } from './conformance-sharing.ts';
import { type StoreUnderTest, openedOf } from './under-test.ts';
import { claimedOf, dead, done, dueAt, eventOf, only, presentTime, settlementOf } from './parts.ts';

/** Runs the suite for one kind of store; `makeStore` is called anew for each test. */
export function describeStore(name: string, makeStore: () => StoreUnderTest): void {
  const opened = () => openedOf(makeStore());

  describe(`${name}: recording`, () => {
    test('gives back what was recorded, byte by byte', async () => {
      const store = await opened();
      const body = Buffer.from([0, 255, 0x7b, 0x7d]);
      const headers = { 'x-one': 'ü', 'x-two': ['a', 'b'] };
      expect(await store.record(eventOf('trace-1', { body, headers, callId: undefined }))).toBe('new');
      const claimed = only(await store.claimEvents(10));
      expect(claimed).toMatchObject({ traceId: 'trace-1', eventName: 'CallHandler.CallEnded' });
      expect(claimed).toMatchObject({ callId: undefined, receivedAt: 2_000, headers });
      expect(Buffer.from(claimed.body).equals(body)).toBe(true);
      expect(claimed).toMatchObject({ crashCount: 0, readingCrashes: 0, storedHandlers: [], openRuns: [] });
    });

    test('hands over what was claimed before what is recorded and claimed later', async () => {
      const store = await opened();
      await store.record(eventOf('trace-1'));
      const order: string[] = [];
      const claiming = store.claimEvents(10, (claimed) =>
        order.push(...claimed.map(({ traceId }) => traceId)),
      );
      const recording = store.record(eventOf('trace-2'), ({ traceId }) => order.push(traceId));
      const claimed = await claiming;
      expect(order.slice(0, claimed.length)).toEqual(claimed.map(({ traceId }) => traceId));
      await recording;
      expect(order[0]).toBe('trace-1');
    });

    test('of many copies at once exactly one is new', async () => {
      const store = await opened();
      const results = await Promise.all(Array.from({ length: 50 }, () => store.record(eventOf('trace-1'))));
      expect(results.filter((result) => result === 'new')).toHaveLength(1);
      expect(await store.claimEvents(10)).toHaveLength(1);
    });

    test('one identity in common makes a copy, whose other identities are not taken', async () => {
      const store = await opened();
      expect(await store.record(eventOf('trace-1', { identities: ['sha256:a', 'header:1'] }))).toBe('new');
      expect(await store.record(eventOf('trace-2', { identities: ['sha256:b', 'header:1'] }))).toBe(
        'duplicate',
      );
      expect(await store.record(eventOf('trace-3', { identities: ['sha256:b', 'header:3'] }))).toBe('new');
    });

    test('a write that fails takes no other of its group with it', async () => {
      const store = await opened();
      const bad = eventOf('bad', { eventName: null as never });
      const results = await Promise.allSettled(
        [eventOf('trace-1'), bad, eventOf('trace-2')].map((record) => store.record(record)),
      );
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await store.claimEvents(10)).map(({ traceId }) => traceId)).toEqual(['trace-1', 'trace-2']);
    });

    test('the first scheme pinned is the one that stays', async () => {
      const store = await opened();
      expect(await store.pinnedScheme()).toBeUndefined();
      const pinned = await Promise.all(['first', 'second'].map((scheme) => store.pinScheme(scheme)));
      expect(pinned).toEqual(['first', 'first']);
      expect(await store.pinnedScheme()).toBe('first');
    });

    test('a scheme takes the place of the one that it is to replace, and of no other', async () => {
      const store = await opened();
      expect(await store.pinScheme('first', 'another')).toBe('first');
      expect(await store.pinScheme('second', 'another')).toBe('first');
      const pinned = await Promise.all(['second', 'third'].map((scheme) => store.pinScheme(scheme, 'first')));
      expect(pinned).toEqual(['second', 'second']);
      expect(await store.pinnedScheme()).toBe('second');
    });

    test('a key by which an event is only found makes no other a duplicate', async () => {
      const store = await opened();
      const unsigned = (place: string) =>
        eventOf('trace-1', { identities: [`sha256:${place}`], lookup: 'header:trace-1' });
      expect(await store.record(unsigned('first'))).toBe('new');
      expect(await store.record(unsigned('second'))).toBe('new');
      expect(await store.record(unsigned('second'))).toBe('duplicate');
      expect((await store.events.get('trace-1'))?.traceId).toBe('trace-1');
    });

    test('a scheme that is let go makes room for another', async () => {
      const store = await opened();
      expect(await store.unpinScheme()).toBeUndefined();
      await store.pinScheme('first');
      expect(await store.unpinScheme()).toBe('first');
      expect(await store.pinnedScheme()).toBeUndefined();
      expect(await store.pinScheme('second')).toBe('second');
    });

    test('quarantine: unreadable once for all copies, strangers no more than so many, the oldest go', async () => {
      const store = await opened();
      const kept = { digest: 'same', receivedAt: 1, headers: {}, body: Buffer.from('x'), skipped: 0 };
      for (let copy = 0; copy < 3; copy += 1) {
        await store.quarantine.keep({ ...kept, kind: 'unreadable', reason: 'not_json' });
      }
      const stranger = { ...kept, kind: 'not_authentic', reason: 'signature_mismatch' } as const;
      await Promise.all(Array.from({ length: 1_003 }, () => store.quarantine.keep(stranger)));
      expect((await store.counts()).quarantine).toEqual({ notAuthentic: 1_000, unreadable: 1, dropped: 3 });
      const large = { ...stranger, body: Buffer.alloc(20 * 1024 ** 2) };
      for (let index = 0; index < 3; index += 1) await store.quarantine.keep(large);
      expect((await store.counts()).quarantine.notAuthentic).toBe(2);
    });

    test('quarantine: of a body that was cut, the size is that of the whole', async () => {
      const store = await opened();
      const kept = { digest: 'd', receivedAt: 1, headers: {}, body: Buffer.from('head'), skipped: 0 };
      const record = { ...kept, kind: 'not_authentic', reason: 'signature_missing' } as const;
      const { id } = await store.quarantine.keep({ ...record, cutFrom: 5_000 });
      expect(await store.quarantine.get(id)).toMatchObject({ bytes: 5_000, isCut: true });
      const whole = await store.quarantine.keep(record);
      const { deliveries } = await store.quarantine.list({ limit: 2 });
      expect(deliveries).toMatchObject([
        { id: whole.id, bytes: 4, isCut: false },
        { id, bytes: 5_000, isCut: true },
      ]);
    });
  });

  describe(`${name}: claiming`, () => {
    test('in order of arrival, as many as asked for, none twice', async () => {
      const store = await opened();
      for (const traceId of ['c', 'a', 'b']) await store.record(eventOf(traceId));
      const claims = await Promise.all([store.claimEvents(2), store.claimEvents(2)]);
      expect(claims.map((claim) => claim.map(({ traceId }) => traceId))).toEqual([['c', 'a'], ['b']]);
      expect(await store.claimEvents(2)).toEqual([]);
    });

    test('due runs of one handler, those that are due, earliest first', async () => {
      const store = await opened();
      const events = await claimedOf(store, eventOf('a'), eventOf('b'), eventOf('c'));
      for (const [index, event] of events.entries()) {
        const at = [300, 100, 200][index] ?? 0;
        await store.settle(settlementOf(event, dueAt(at), { attempts: index + 1 }));
      }
      expect(await store.nextDue('handler')).toBe(100);
      expect(await store.nextDue('another')).toBeUndefined();
      expect(await store.claimRuns('handler', 10, 99)).toEqual([]);
      expect(await store.claimRuns('another', 10, 999)).toEqual([]);
      const runs = await store.claimRuns('handler', 10, 200);
      expect(runs).toMatchObject([
        { traceId: 'b', handler: 'handler', attempts: 2 },
        { traceId: 'c', handler: 'handler', attempts: 3 },
      ]);
      expect(await store.nextDue('handler')).toBe(300);
      expect(await store.claimRuns('handler', 1, 300)).toMatchObject([{ traceId: 'a' }]);
      expect(await store.claimRuns('handler', 10, 300)).toEqual([]);
    });

    test('a later event of the call is told which runs before it are open', async () => {
      const store = await opened();
      const first = only(await claimedOf(store, eventOf('a', { callId: 'call-1' })));
      await store.settle(settlementOf(first, dueAt(100), { attempts: 4 }));
      const events = await claimedOf(
        store,
        eventOf('b', { callId: 'call-1' }),
        eventOf('c', { callId: 'call-2' }),
      );
      expect(events[0]?.openRuns).toMatchObject([{ handler: 'handler', attempts: 4 }]);
      expect(events[1]?.openRuns).toEqual([]);
    });
  });

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

    test('a strict run that is settled lets the next of its call go, one at a time', async () => {
      const store = await opened();
      const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const [first, second, third] = await claimedOf(store, ...records);
      if (!first || !second || !third) throw new Error('nothing was claimed');
      const isStrict = true;
      await store.settle(settlementOf(first, dueAt(500), { isStrict }));
      await store.settle(settlementOf(second, { kind: 'blocked' }, { attempts: 0, isStrict }));
      await store.settle(settlementOf(third, { kind: 'blocked' }, { attempts: 0, isStrict }));
      expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 2 });
      for (const traceId of ['a', 'b', 'c']) {
        const run = only(await store.claimRuns('handler', 10, 1_000));
        expect(run.traceId).toBe(traceId);
        await store.settle(settlementOf(run, traceId === 'b' ? dead : done, { isStrict }));
      }
      expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0, dead: 1 });
    });

    test('a run that would wait for nothing is due at once', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      await store.settle(settlementOf(event, { kind: 'blocked' }, { attempts: 0, isStrict: true }));
      expect(await store.claimRuns('handler', 10, 1)).toHaveLength(1);
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

  describeReplaying(name, opened);

  test(`${name}: a process that nobody shares with finds nothing to take over`, async () => {
    const store = await opened();
    await claimedOf(store, eventOf('a'));
    expect(await store.keepAlive()).toEqual({ takenOver: 0 });
  });

  describeDismissing(name, opened);
  if (makeStore().shared) describeSharing(name, makeStore);
}
