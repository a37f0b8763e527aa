// @module-tag long
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import { callKey } from '../../../src/store/event-record.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import {
  batch,
  era,
  foundOf,
  foundWhen,
  goTo,
  indexOf,
  ofCall,
  one,
  other,
  recordAll,
  totalsOf,
} from './call-places.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { eventOf, presentTime, record } from '../parts.ts';
import { openedOf } from '../under-test.ts';

/** Records two calls with the same key, each with events in three eras; the last of these events are not indexed. */
async function recordSpread(store: SqliteStore): Promise<void> {
  let recorded = 0;
  for (const first of [1, 3_000, 2 * era, 2 * era + batch, 7 * era, 7 * era + 10]) {
    goTo(store, first);
    recorded += 1;
    await record(store, ofCall(one, `one-${recorded}`));
    await record(store, ofCall(other, `other-${recorded}`));
  }
}

const spread = (name: string) => [1, 2, 3, 4, 5, 6].map((number) => `${name}-${number}`);

describe('the events of a call', () => {
  test('are found before, across and after a batch, among others', async () => {
    const store = await openedSqlite();
    const expected: string[] = [];
    for (let round = 0; round < 9; round += 1) {
      const records = Array.from({ length: 600 }, (_, index) =>
        ofCall(`another-${round}-${index % 200}`, `another-${round}-${index}`),
      );
      await recordAll(store, [...records, ofCall(one, `one-${round}`)]);
      expected.push(`one-${round}`);
      const { timeline, search, view } = await foundOf(store, one);
      expect({ timeline, search, view }).toEqual({
        timeline: expected,
        search: expected,
        view: [{ events: round + 1 }],
      });
    }
    expect(await foundOf(store, one)).toEqual(foundWhen(expected));
    const { last, indexed } = totalsOf(store);
    expect(indexed).toBeGreaterThanOrEqual(2 * batch);
    expect(last - indexed).toBeLessThan(batch);
    expect(indexOf(store)).toHaveLength(indexed);
  });

  test('are found in every era, also beside a call that has the same key', async () => {
    expect(callKey(one)).toBe(callKey(other));
    const store = await openedSqlite();
    await recordSpread(store);
    expect(new Set(indexOf(store).map((row) => (row as { era: number }).era))).toEqual(new Set([0, 2, 7]));
    const { last, indexed } = totalsOf(store);
    expect(indexed).toBeLessThan(last);
    expect(await foundOf(store, one)).toEqual(foundWhen(spread('one')));
    expect(await foundOf(store, other)).toEqual(foundWhen(spread('other')));
  });

  test('are found while two stores record into one file', async () => {
    const file = temporaryDatabase();
    const under = { make: () => new SqliteStore(file, new ManualClock(presentTime)) };
    const stores = [await openedOf(under), await openedOf(under)] as [SqliteStore, SqliteStore];
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(
        stores.map((store, index) =>
          recordAll(
            store,
            Array.from({ length: 400 }, (_, event) =>
              ofCall(event === 0 ? one : `another-${event}`, `${index}-${round}-${event}`),
            ),
          ),
        ),
      );
    }
    const [first, second] = stores;
    const found = await foundOf(first, one);
    expect(found.timeline.toSorted()).toEqual(
      [0, 1].flatMap((index) => [0, 1, 2, 3].map((round) => `${index}-${round}-0`)),
    );
    expect(found).toEqual(foundWhen(found.timeline));
    expect(await foundOf(second, one)).toEqual(found);
    const { indexed } = totalsOf(first);
    expect(indexed).toBeGreaterThanOrEqual(batch);
    expect(indexOf(first)).toHaveLength(indexed);
  });

  test('are erased with their places in the index, and only they', async () => {
    const store = await openedSqlite();
    await recordSpread(store);
    expect(indexOf(store)).toHaveLength(9);
    expect(await store.retention.eraseCall(one, 0)).toMatchObject({ events: 6, hasMore: false });
    expect(await foundOf(store, one)).toEqual(foundWhen([]));
    expect(await foundOf(store, other)).toEqual(foundWhen(spread('other')));
    expect(indexOf(store)).toHaveLength(4);
    // The remaining events of the other call are indexed now; erased events are not.
    goTo(store, 9 * era);
    await record(store, ofCall(other, 'other-7'));
    expect(await foundOf(store, other)).toEqual(foundWhen([...spread('other'), 'other-7']));
    expect(await store.retention.eraseCall(other, 0)).toMatchObject({ events: 7 });
    expect(indexOf(store)).toEqual([]);
  });

  test('are erased in steps, each of which finds what is left', async () => {
    const store = await openedSqlite();
    for (const first of [1, era - 150, 2 * era]) {
      goTo(store, first);
      const number = Array.from({ length: 150 }, (_, index) => index);
      await recordAll(
        store,
        number.flatMap((at) => [ofCall(one, `one-${first}-${at}`), ofCall(other, `other-${first}-${at}`)]),
      );
    }
    const steps = [];
    for (let hasMore = true; hasMore;) {
      const step = await store.retention.eraseCall(one, 0);
      steps.push(step.events);
      ({ hasMore } = step);
    }
    expect(steps).toEqual([200, 200, 50]);
    expect((await foundOf(store, one)).timeline).toEqual([]);
    expect((await foundOf(store, other)).timeline).toHaveLength(450);
  });

  test('go when they were kept long enough, with their places in the index', async () => {
    const store = await openedSqlite();
    await recordSpread(store);
    for (const event of await store.claimEvents(100)) {
      // The last event of each call is not finished.
      if (event.sequence < 7 * era + 10) await store.finish(event);
    }
    const limits = { doneBefore: 10_000, deadBefore: 0, quarantineBefore: 0, now: 0, traceIdsUntil: 0 };
    expect(await store.retention.clean(limits, undefined)).toMatchObject({ events: 10 });
    expect(await foundOf(store, one)).toEqual(foundWhen(['one-6']));
    expect(await foundOf(store, other)).toEqual(foundWhen(['other-6']));
    expect(indexOf(store)).toEqual([]);
  });

  test.each([
    ['indexed', 1, era + 10],
    ['not indexed yet', era + 10, 1],
  ])('keep what their joins remember while one is there that is %s', async (_, last, first) => {
    const store = await openedSqlite();
    for (const sequence of [1, era, era + 10]) {
      goTo(store, sequence);
      await record(store, ofCall(sequence === era ? other : one, `at-${sequence}`));
    }
    expect(indexOf(store)).toHaveLength(2);
    store.database.prepare("insert into joins (handler, call_id) values ('join', ?)").run(one);
    const joins = store.database.prepare('select call_id as callId from joins');
    await store.retention.eraseEvents([first], 0);
    expect(joins.all()).toEqual([{ callId: one }]);
    await store.retention.eraseEvents([last], 0);
    expect(joins.all()).toEqual([]);
  });
});

test('whatever comes and goes, every reader finds the same events of a call', async () => {
  const callId = fc.nat(3).map((id) => `call-${id}`);
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('record' as const), callId }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('record without call' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), callId }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('skip' as const),
        count: fc.constantFrom(1, 2, 1_000, batch - 2, batch - 1, batch, era - 1, era, 3 * era),
      }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const store = new SqliteStore(':memory:', new ManualClock(presentTime));
      await store.open();
      const calls = new Map<string, string[]>();
      for (const [index, taken] of steps.entries()) {
        if (taken.kind === 'skip') goTo(store, totalsOf(store).last + taken.count);
        if (taken.kind === 'erase') {
          await store.retention.eraseCall(taken.callId, 0);
          calls.delete(taken.callId);
        }
        if (taken.kind === 'record without call') {
          await record(store, eventOf(`trace-${index}`, { callId: undefined }));
        }
        if (taken.kind === 'record') {
          await record(store, ofCall(taken.callId, `trace-${index}`));
          calls.set(taken.callId, [...(calls.get(taken.callId) ?? []), `trace-${index}`]);
        }
      }
      for (const id of ['call-0', 'call-1', 'call-2', 'call-3']) {
        expect(await foundOf(store, id)).toEqual(foundWhen(calls.get(id) ?? []));
      }
      await store.close();
    }),
    { numRuns: 100 },
  );
});

test('the view "calls" finds the events of each call through the index', () => {
  const db = openDatabase(':memory:');
  const plan = db.prepare('explain query plan select * from calls').all() as { detail: string }[];
  const whole = plan.map(({ detail }) => detail).filter((detail) => /^SCAN \w|AUTOMATIC/.test(detail));
  // These tables have only one or a few rows.
  const large = whole.filter((detail) => !/^SCAN (?:event_totals|eras|reported)\b/.test(detail));
  expect(large).toEqual(['SCAN first']);
  db.close();
});
