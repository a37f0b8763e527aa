/** What every store must do with a delivery that it records, and with the scheme that is pinned. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { eventOf, only } from '../parts.ts';

/** Runs this part of the suite. */
export function describeRecording(name: string, opened: () => Promise<Store>): void {
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
  });
}
