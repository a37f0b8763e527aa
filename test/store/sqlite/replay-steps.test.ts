import { describe, expect, test } from 'vitest';
import type { EventFilter } from '../../../src/store/event-store.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { goTo } from './call-places.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { dead, endOf, eventOf, record, recordEnded, runOf } from '../parts.ts';

const callId = 'call-1';

/** A store with `count` events of a call, whose runs are dead letters. */
async function withDeadLetters(count: number): Promise<SqliteStore> {
  const store = await openedSqlite();
  const records = Array.from({ length: count }, (_, index) => eventOf(`trace-${index}`, { callId }));
  await Promise.all(records.map((event) => record(store, event)));
  const claimed = await store.claimEvents(count);
  await Promise.all(claimed.map((event) => store.settle(runOf(store, event), endOf(dead))));
  return store;
}

/** The first and the last event of each stretch of a walk, and where it ends. */
async function walked(store: SqliteStore, filter: EventFilter) {
  const upTo = await store.events.lastSequence();
  const stretches: (readonly (number | undefined)[])[] = [];
  for (let after = 0; after < upTo;) {
    const { events, reached } = await store.events.stretch(filter, after, upTo);
    stretches.push([events[0]?.sequence, events.at(-1)?.sequence, reached]);
    after = reached;
  }
  return stretches;
}

describe('a stretch of a replay', () => {
  test.each<EventFilter>([{ state: 'dead' }, { state: 'done' }, { callId }, { handler: 'handler' }])(
    'with %j has a hundred events at most, and none is left out',
    async (filter) => {
      const store = await withDeadLetters(250);
      expect(await walked(store, filter)).toEqual([
        [1, 100, 100],
        [101, 200, 200],
        [201, 250, 250],
      ]);
    },
  );

  test('goes through a bounded part of the inbox, also where few events match', async () => {
    const store = await withDeadLetters(1);
    goTo(store, 50_000);
    await recordEnded(store, eventOf('late'), dead);
    expect(await walked(store, { state: 'dead' })).toEqual([
      [1, 1, 20_000],
      [undefined, undefined, 40_000],
      [50_000, 50_000, 50_000],
    ]);
  });
});
