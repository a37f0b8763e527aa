import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallRecord } from '../../../src/calls/timeline.ts';
import { callKey } from '../../../src/store/event-record.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { listEvent, listFilter } from '../../calls/arbitrary-events.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { expectListed, pagesOf } from '../call-pages.ts';
import { eventOf, record } from '../parts.ts';

/** How many turns the event loop takes until the promise is settled. */
async function turnsUntil(promise: Promise<unknown>): Promise<number> {
  const seen = { isSettled: false, turns: 0 };
  void promise.finally(() => {
    seen.isSettled = true;
  });
  for (; !seen.isSettled; seen.turns += 1) await turn();
  return seen.turns;
}

/** Adds `count` events without a call, one for each millisecond, which a list of calls must pass over. */
function fill(store: SqliteStore, count: number, receivedAt: number): void {
  store.database
    .prepare(
      `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
       insert into events (sequence, trace_id, event_name, occurred_at, received_at, facts)
       select last_sequence + n, 'filler', 'Another.Event', 0, ? + n, '{}' from numbers, event_totals`,
    )
    .run(count, receivedAt);
  skip(store, count);
}

/** Skips sequence numbers, as cleaning does. */
function skip(store: SqliteStore, count: number): void {
  store.database.prepare('update event_totals set last_sequence = last_sequence + ?').run(count);
}

const idsOf = (calls: readonly CallRecord[]) => calls.map(({ callId }) => callId);

describe('the list of calls', () => {
  // Gaps shorter and longer than one step of a search, and about as long.
  const event = fc.tuple(listEvent, fc.constantFrom(0, 0, 0, 700, 998, 999, 1_500, 19_999, 45_000));

  test(
    'is every call that matches, by its first event, the latest first, in full pages',
    { tags: 'long' },
    async () => {
      let runs = 0;
      const store = await openedSqlite();
      const clear = store.database.prepare('delete from events');
      await fc.assert(
        fc.asyncProperty(fc.array(event, { maxLength: 16 }), listFilter, async (placed, wanted) => {
          const events = placed.map(([parts, gap]) => ({ ...parts, gap }));
          runs += 1;
          clear.run();
          for (const [index, { agentId, gap, ...parts }] of events.entries()) {
            const identity = `${runs}-${index}`;
            skip(store, gap);
            await record(
              store,
              eventOf(identity, { ...parts, identity, facts: { agentId, source: 'body' } }),
            );
          }
          await expectListed(store, events, wanted);
        }),
        { numRuns: 300 },
      );
    },
  );

  test('has a call of many events once, where its first event is', async () => {
    const store = await openedSqlite();
    await record(store, eventOf('before'));
    const many = Array.from({ length: 5_000 }, (_, index) => eventOf(`many-${index}`, { callId: 'many' }));
    await Promise.all(many.map((each) => record(store, each)));
    await record(store, eventOf('after'));
    const pages = await pagesOf(store, { limit: 1 });
    expect(pages.map(idsOf)).toEqual([['call-of-after'], ['many'], ['call-of-before']]);
    expect(pages[1]?.[0]?.events).toHaveLength(5_000);
  });

  test('yields to other work, however little of a large inbox matches', async () => {
    const store = await openedSqlite();
    await record(store, eventOf('old'));
    fill(store, 40_000, 10_000);
    const listing = store.calls.list({ limit: 10 });
    expect(await turnsUntil(listing)).toBeGreaterThanOrEqual(20);
    expect(idsOf((await listing).calls)).toEqual(['call-of-old']);
  });

  test('yields to other work between the calls that it lists', async () => {
    const store = await openedSqlite();
    const callIds = ['one', 'two', 'three', 'four', 'five', 'six'];
    for (const callId of callIds) {
      const many = Array.from({ length: 500 }, (_, index) => eventOf(`${callId}-${index}`, { callId }));
      await Promise.all(many.map((each) => record(store, each)));
    }
    const withoutTelling = await turnsUntil(store.calls.list({ agentId: 'nobody', limit: 10 }));
    const listing = store.calls.list({ limit: 10 });
    expect(await turnsUntil(listing)).toBeGreaterThanOrEqual(withoutTelling + 2);
    expect(idsOf((await listing).calls)).toEqual(callIds.toReversed());
  });

  test('looks no further back than `since`', async () => {
    const store = await openedSqlite();
    fill(store, 40_000, 10_000);
    await record(store, eventOf('new', { receivedAt: 60_000 }));
    const listing = store.calls.list({ since: 60_000, limit: 10 });
    expect(await turnsUntil(listing)).toBeLessThan(5);
    expect(idsOf((await listing).calls)).toEqual(['call-of-new']);
  });

  test('finds a call from under a clock that was ahead, however much came between', async () => {
    const store = await openedSqlite();
    await record(store, eventOf('ahead', { receivedAt: 90_000 }));
    fill(store, 10_000, 0);
    fill(store, 45_000, 10_000);
    await record(store, eventOf('new', { receivedAt: 60_000 }));
    const { calls } = await store.calls.list({ since: 10_001, limit: 10 });
    expect(idsOf(calls)).toEqual(['call-of-new', 'call-of-ahead']);
  });

  test('knows on every page of the events that came out of quarantine, before `until` by their time', async () => {
    const store = await openedSqlite();
    for (const [index, callId] of ['one', 'two', 'two', 'one'].entries()) {
      await record(store, eventOf(`t-${index}`, { callId, receivedAt: index < 2 ? 2_000 : 1_000 }));
    }
    expect((await pagesOf(store, { until: 2_000, limit: 1 })).map(idsOf)).toEqual([['two'], ['one']]);
  });

  test('goes through what arrived since `until` faster than through calls', async () => {
    const store = await openedSqlite();
    await record(store, eventOf('old'));
    fill(store, 40_000, 10_000);
    const listing = store.calls.list({ until: 10_000, limit: 10 });
    expect(await turnsUntil(listing)).toBeLessThan(10);
    expect(idsOf((await listing).calls)).toEqual(['call-of-old']);
  });

  test('distinguishes calls whose ids have the same key', async () => {
    const [one, other] = ['call-65733456', 'call-127002251'] as const;
    expect(callKey(one)).toBe(callKey(other));
    const store = await openedSqlite();
    const ofBoth = [
      eventOf('t-1', { callId: one }),
      eventOf('t-2', { callId: other }),
      eventOf('t-3', { callId: one }),
    ];
    for (const each of ofBoth) await record(store, { ...each, facts: { agentId: 'a', source: 'body' } });
    const { calls } = await store.calls.list({ agentId: 'a', limit: 10 });
    expect(calls.map((call) => call.events.map(({ traceId }) => traceId))).toEqual([['t-2'], ['t-1', 't-3']]);
    const rows = store.database.prepare('select call_id, events from calls').all();
    expect(rows).toEqual([
      { call_id: one, events: 2 },
      { call_id: other, events: 1 },
    ]);
  });
});
