/** What every store must do with a delivery that it records, and with the scheme that is pinned. */
import { describe, expect, test } from 'vitest';
import type { ClaimedEvent } from '../../../src/store/claims.ts';
import { headerIdentity } from '../../../src/store/event-record.ts';
import type { Store } from '../../../src/store/store.ts';
import { eventOf, handlerOf, only, record, traceIdsOf } from '../parts.ts';

/** Runs this part of the suite. */
export function describeRecording(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: recording`, () => {
    test('gives back what was recorded, byte by byte', async () => {
      const store = await opened();
      const body = Buffer.from([0, 255, 0x7b, 0x7d]);
      const headers = { 'x-one': 'ü', 'x-two': ['a', 'b'] };
      expect(await record(store, eventOf('trace-1', { body, headers, callId: undefined }))).toBe('new');
      const claimed = only(await store.claimEvents(10));
      expect(claimed).toMatchObject({ traceId: 'trace-1', eventName: 'CallHandler.CallEnded' });
      expect(claimed).toMatchObject({ callId: undefined, receivedAt: 2_000, headers });
      expect(Buffer.from(claimed.body).equals(body)).toBe(true);
      const run = only(store.runsOf(claimed, [handlerOf()]));
      const nothingHasHappened = { crashCount: 0, readingCrashes: 0, attempts: 0, replay: undefined };
      expect(run).toMatchObject({ ...claimed, claim: run.claim, handler: 'handler', ...nothingHasHappened });
      expect(store.mayRun(run)).toBe(true);
    });

    test('says whether it can take a delivery, and leaves nothing of the question behind', async () => {
      const store = await opened();
      await record(store, eventOf('a'));
      const before = await store.counts();
      for (let time = 0; time < 3; time += 1) await store.probe?.();
      expect(await store.counts()).toEqual(before);
      expect(await record(store, eventOf('b'))).toBe('new');
      expect(traceIdsOf(await store.claimEvents(10))).toEqual(['a', 'b']);
    });

    test('reports nothing for the log while nothing is wrong', async () => {
      const store = await opened();
      const notices: unknown[] = [];
      store.reportTo?.((notice) => notices.push(notice));
      await record(store, eventOf('a'));
      await store.finish(only(await store.claimEvents(10)));
      await store.keepAlive();
      expect(notices).toEqual([]);
    });

    test('claims a new event with the same write, if it may and nothing of its call waits', async () => {
      const store = await opened();
      const { written, claimed } = store.record(eventOf('a'), true);
      expect(await written).toBe('new');
      expect(await claimed).toMatchObject({ traceId: 'a', crashCount: 0, readingCrashes: 0 });
      for (const [traceId, mayClaim] of [
        ['a', true],
        ['b', false],
        ['c', true],
      ] as const) {
        const event = eventOf(traceId, traceId === 'a' ? {} : { callId: 'call-1' });
        expect(await store.record(event, mayClaim).claimed).toBeUndefined();
      }
      expect(traceIdsOf(await store.claimEvents(10))).toEqual(['b', 'c']);
    });

    test.each(mixtures)('what is claimed arrives in the order of the claims: %s', async (_, steps) => {
      const store = await opened();
      const arrived: ClaimedEvent[] = [];
      const claim = async () => void arrived.push(...(await store.claimEvents(2)));
      const recordNext = async (mayClaim: boolean) => {
        recorded += 1;
        const { claimed } = store.record(eventOf(`trace-${recorded}`, { callId: 'call-1' }), mayClaim);
        arrived.push(...[await claimed].filter((event) => event !== undefined));
      };
      let recorded = 0;
      const asked: Promise<void>[] = [];
      for (let round = 0; round < 20; round += 1) {
        for (const step of steps)
          asked.push(step === 'claim' ? claim() : recordNext(step === 'record claimed'));
        // Some rounds are asked for at once, others when the last one has been answered.
        if (round % 3 === 0) await asked.at(-1);
      }
      await Promise.all(asked);
      arrived.push(...(await store.claimEvents(1_000)));
      const sequences = arrived.map(({ sequence }) => sequence);
      expect(sequences).toHaveLength(recorded);
      expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
    });

    test('of many copies at once exactly one is new', async () => {
      const store = await opened();
      const results = await Promise.all(Array.from({ length: 50 }, () => record(store, eventOf('trace-1'))));
      expect(results.filter((result) => result === 'new')).toHaveLength(1);
      expect(await store.claimEvents(10)).toHaveLength(1);
    });

    test('a write that fails takes no other of its group with it', async () => {
      const store = await opened();
      const bad = eventOf('bad', { eventName: null as never });
      const results = await Promise.allSettled(
        [eventOf('trace-1'), bad, eventOf('trace-2')].map((one) => record(store, one)),
      );
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(traceIdsOf(await store.claimEvents(10))).toEqual(['trace-1', 'trace-2']);
    });

    test('the first scheme pinned is the one that stays', async () => {
      const store = await opened();
      expect(await store.pinnedScheme()).toBeUndefined();
      const pinned = await Promise.all(['first', 'second'].map((scheme) => store.pinScheme(scheme)));
      // Which of the two comes first is left to the store.
      const kept = await store.pinnedScheme();
      expect(['first', 'second']).toContain(kept);
      expect(pinned).toEqual([kept, kept]);
      expect(await store.pinScheme('third')).toBe(kept);
      expect(await store.pinnedScheme()).toBe(kept);
    });

    test('a scheme takes the place of the one that it is to replace, and of no other', async () => {
      const store = await opened();
      expect(await store.pinScheme('first', 'another')).toBe('first');
      expect(await store.pinScheme('second', 'another')).toBe('first');
      const pinned = await Promise.all(['second', 'third'].map((scheme) => store.pinScheme(scheme, 'first')));
      const kept = await store.pinnedScheme();
      expect(['second', 'third']).toContain(kept);
      expect(pinned).toEqual([kept, kept]);
      expect(await store.pinScheme('fourth', 'first')).toBe(kept);
      expect(await store.pinnedScheme()).toBe(kept);
    });

    test('a key by which an event is only found makes no other a duplicate', async () => {
      const store = await opened();
      const unsigned = (place: string) =>
        eventOf('trace-1', { identity: `sha256:${place}`, lookup: 'header:trace-1' });
      expect(await record(store, unsigned('first'))).toBe('new');
      expect(await record(store, unsigned('second'))).toBe('new');
      expect(await record(store, unsigned('second'))).toBe('duplicate');
      expect((await store.events.get('trace-1'))?.traceId).toBe('trace-1');
    });

    test('of two events with one trace id, the first is found if both are done or neither is', async () => {
      const store = await opened();
      const traceIds = Array.from({ length: 8 }, (_, index) => `trace-${index}`);
      for (const traceId of traceIds) {
        await record(store, eventOf(traceId, { callId: 'first' }));
        const ids = { identity: `sha256:${traceId}`, lookup: headerIdentity(traceId) };
        await record(store, eventOf(traceId, { callId: 'second', ...ids }));
      }
      for (const traceId of traceIds)
        expect(await store.events.get(traceId)).toMatchObject({ traceId, callId: 'first' });
    });

    test('an unpinned scheme makes room for another', async () => {
      const store = await opened();
      expect(await store.unpinScheme()).toBeUndefined();
      await store.pinScheme('first');
      expect(await store.unpinScheme()).toBe('first');
      expect(await store.pinnedScheme()).toBeUndefined();
      expect(await store.pinScheme('second')).toBe('second');
    });
  });
}

/** What is asked of the store in one turn, again and again. */
const mixtures: readonly (readonly [string, readonly Step[]])[] = [
  ['recorded and claimed, then claimed', ['record claimed', 'record claimed', 'claim']],
  ['recorded, then claimed', ['record', 'record claimed', 'claim', 'record claimed']],
  ['claimed, then recorded and claimed', ['claim', 'record claimed', 'record', 'claim']],
];

type Step = 'record' | 'record claimed' | 'claim';
