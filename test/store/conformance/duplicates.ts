/** What every store must do with the duplicates of events, which it counts when they are reported to it. */
import { describe, expect, test } from 'vitest';
import { type EventRecord, headerIdentity, reconciledIdentity } from '../../../src/store/event-record.ts';
import type { KeptDuplicates, SeenDuplicates } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedOf, done, eventOf, only, record, recordEnded } from '../parts.ts';
import { reconciledOf } from './reconciling.ts';

const until = 10_000;

/** Duplicates of an event that were seen at a time. */
export function seenOf(
  { identity, eventName, callId }: EventRecord,
  at: number,
  parts: Partial<KeptDuplicates> = {},
): SeenDuplicates {
  const reconciled = reconciledIdentity(eventName, callId);
  return { identity, reconciled, count: 1, firstSeenAt: at, lastSeenAt: at, ...parts };
}

export const duplicatesOf = async (store: Store, traceId: string) =>
  (await store.events.get(traceId))?.duplicates;

/** Runs this part of the suite. */
export function describeDuplicates(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: duplicates`, () => {
    test('are counted for their event, with the first and the last; other events have none', async () => {
      const store = await opened();
      const [one, other] = [eventOf('one'), eventOf('other')];
      for (const event of [one, other, eventOf('third')]) await record(store, event);
      await store.events.addDuplicates([seenOf(one, 5_000), seenOf(other, 4_000)]);
      await store.events.addDuplicates([
        seenOf(one, 3_000, { count: 2, lastSeenAt: 4_000 }),
        seenOf(one, 6_000),
      ]);
      const counted = { count: 4, firstSeenAt: 3_000, lastSeenAt: 6_000 };
      expect(await duplicatesOf(store, 'one')).toEqual(counted);
      const { events } = await store.events.list({}, { limit: 10 });
      expect(events.map(({ traceId, duplicates }) => [traceId, duplicates])).toEqual([
        ['third', undefined],
        ['other', { count: 1, firstSeenAt: 4_000, lastSeenAt: 4_000 }],
        ['one', counted],
      ]);
    });

    test('of a reconciled event are found under whatever trace id they come, and add up', async () => {
      const store = await opened();
      await record(store, reconciledOf('call-1'));
      const [late, later] = ['late', 'later'].map((id) => seenOf(eventOf(id, { callId: 'call-1' }), 5_000));
      if (late && later) await store.events.addDuplicates([late, later]);
      expect(await duplicatesOf(store, reconciledOf('call-1').traceId)).toMatchObject({ count: 2 });
    });

    test('are not found by an unsigned trace id, nor counted without an event', async () => {
      const store = await opened();
      await record(store, eventOf('a', { identity: 'sha256:a', lookup: headerIdentity('a') }));
      await store.events.addDuplicates([seenOf(eventOf('a'), 5_000), seenOf(eventOf('never seen'), 5_000)]);
      expect(await duplicatesOf(store, 'a')).toBeUndefined();
      await store.events.addDuplicates([seenOf(eventOf('a', { identity: 'sha256:a' }), 5_000)]);
      expect(await duplicatesOf(store, 'a')).toMatchObject({ count: 1 });
    });

    test('go with their event, and are dropped after that', async () => {
      const store = await opened();
      const [old, erased, kept] = [
        eventOf('old', { receivedAt: 1_000 }),
        eventOf('erased', { callId: 'call-1' }),
        eventOf('kept'),
      ];
      await recordEnded(store, old, done);
      for (const event of [erased, kept]) await record(store, event);
      const seen = [old, erased, kept].map((event) => seenOf(event, 5_000));
      await store.events.addDuplicates(seen);
      const limits = { doneBefore: 2_000, deadBefore: 0, quarantineBefore: 0, traceIdsUntil: until };
      await store.retention.clean({ ...limits, now: 0 }, undefined);
      await store.retention.eraseCall('call-1', until);
      await store.events.addDuplicates(seen);
      // Once its trace id is forgotten, a copy is a new event.
      await store.retention.clean({ ...limits, now: until }, undefined);
      for (const event of [old, erased]) {
        expect(await record(store, event)).toBe('new');
        expect(await duplicatesOf(store, event.traceId)).toBeUndefined();
      }
      expect(await duplicatesOf(store, 'kept')).toMatchObject({ count: 2 });
    });

    test('change nothing about what is to be done with their event', async () => {
      const store = await opened();
      const event = eventOf('a');
      const claimed = only(await claimedOf(store, event));
      await store.events.addDuplicates([seenOf(event, 5_000)]);
      expect(await store.claimEvents(10)).toEqual([]);
      await store.finish(claimed);
      expect(await store.events.get('a')).toMatchObject({ state: 'done', duplicates: { count: 1 } });
    });
  });
}
