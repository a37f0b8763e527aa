import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { EventFilter } from '../../../src/store/event-store.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { dead, endOf, eventOf, record, runOf } from '../parts.ts';

const callId = 'call-1';
const many = 400;

/** A store with `count` events of a call, whose runs are dead letters. */
async function withDeadLetters(count: number): Promise<SqliteStore> {
  const store = await openedSqlite();
  const records = Array.from({ length: count }, (_, index) => eventOf(`trace-${index}`, { callId }));
  await Promise.all(records.map((event) => record(store, event)));
  const claimed = await store.claimEvents(count);
  await Promise.all(claimed.map((event) => store.settle(runOf(store, event), endOf(dead))));
  return store;
}

/** The events that a replay of the whole inbox would get, one stretch after the other. */
async function walked(store: SqliteStore, filter: EventFilter): Promise<readonly number[]> {
  const upTo = await store.events.lastSequence();
  const sequences: number[] = [];
  for (let after = 0; after < upTo;) {
    const { events, reached } = await store.events.stretch(filter, after, upTo);
    sequences.push(...events.map(({ sequence }) => sequence));
    after = reached;
  }
  return sequences;
}

/** Counts the searches for events from now on. */
function countedSearches(): () => number {
  const scratch = new Database(':memory:');
  const all = vi.spyOn(Object.getPrototypeOf(scratch.prepare('select 1')) as Database.Statement, 'all');
  scratch.close();
  onTestFinished(() => all.mockRestore());
  const searches = () => (all.mock.contexts as Database.Statement[]).filter(({ source }) => isSearch(source));
  return () => searches().length;
}

const isSearch = (sql: string) => sql.startsWith('select sequence from events e where');
const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a stretch of a replay', () => {
  test.each<EventFilter>([{ state: 'dead' }, { callId }, { eventName: 'CallHandler.CallEnded' }])(
    'with %j is taken from what one look has found for many of them',
    async (filter) => {
      const store = await withDeadLetters(many);
      const searches = countedSearches();
      expect(await walked(store, filter)).toEqual(numbersTo(many));
      expect(searches()).toBe(1);
    },
  );

  test('is the right one wherever the walk goes on, and for each of two walks', async () => {
    const store = await withDeadLetters(300);
    const filter = { state: 'dead' } as const;
    const stretch = async (of: EventFilter, after: number, upTo: number) => {
      const { events, reached } = await store.events.stretch(of, after, upTo);
      return [events[0]?.sequence, events.at(-1)?.sequence, reached];
    };
    expect(await stretch(filter, 0, 300)).toEqual([1, 100, 100]);
    expect(await stretch({ callId }, 40, 300)).toEqual([41, 140, 140]);
    expect(await stretch(filter, 100, 300)).toEqual([101, 200, 200]);
    expect(await stretch(filter, 50, 300)).toEqual([51, 150, 150]);
    expect(await stretch(filter, 150, 250)).toEqual([151, 250, 250]);
    expect(await stretch(filter, 250, 300)).toEqual([251, 300, 300]);
  });

  test('leaves out what was erased since the look', async () => {
    const store = await withDeadLetters(250);
    const filter = { state: 'dead' } as const;
    await store.events.stretch(filter, 0, 250);
    await store.retention.eraseEvents([101, 199, 250], 0);
    const { events, reached } = await store.events.stretch(filter, 100, 250);
    expect([events.length, events[0]?.sequence, reached]).toEqual([98, 102, 200]);
    expect(await store.events.stretch(filter, 200, 250)).toMatchObject({
      events: { length: 49 },
      reached: 250,
    });
  });
});
