/** What the app's thread may rely on of the writer thread, tested below the receiver. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { claimedOf, done, eventOf, settlementOf } from '../parts.ts';

/** Locks the database through another connection; returns the function that unlocks it. */
function locked(file: string): () => void {
  const other = new Database(file);
  other.exec('begin immediate');
  return () => other.close();
}

const full = [
  { what: 'writes', most: 16_384, body: Buffer.from('{}') },
  { what: 'bytes', most: 48, body: Buffer.alloc(1024 * 1024, 'x') },
];

test.each(full)('a database that falls behind takes no more than so many $what', async ({ most, body }) => {
  const file = temporaryDatabase();
  const store = new SqliteStore(file, new ManualClock());
  await store.open();
  onTestFinished(() => store.close());
  const unlock = locked(file);
  const outcomes: string[] = [];
  const record = async (place: number): Promise<void> => {
    outcomes[place] = 'waiting';
    outcomes[place] = await store.record(eventOf(`trace-${place}`, { body })).catch(({ message }) => message);
  };
  const under = Array.from({ length: most }, (_, place) => record(place));
  const beyond = [record(most), record(most + 1)];
  await Promise.all(beyond);
  expect(new Set(outcomes.slice(most))).toEqual(new Set(['the database has fallen behind']));
  expect(new Set(outcomes.slice(0, most))).toEqual(new Set(['waiting']));
  expect(store.isOverloaded()).toBe(true);
  unlock();
  await Promise.all(under);
  expect(new Set(outcomes.slice(0, most))).toEqual(new Set(['new']));
  expect(store.isOverloaded()).toBe(false);
  // There is room again, and the refused events were not stored.
  expect(await store.record(eventOf(`trace-${most}`, { body }))).toBe('new');
});

test('what was given up is not stored later, and is no duplicate when it comes again', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock();
  const store = new SqliteStore(file, clock);
  await store.open();
  onTestFinished(() => store.close());
  const unlock = locked(file);
  const handedOver: string[] = [];
  const record = (traceId: string): Promise<string> =>
    store.record(eventOf(traceId), (claimed) => handedOver.push(claimed.traceId)).catch(() => 'given up');
  const early = Array.from({ length: 100 }, (_, place) => record(`early-${place}`));
  await turn();
  clock.advance(400);
  const late = Array.from({ length: 100 }, (_, place) => record(`late-${place}`));
  await turn();
  clock.advance(400);
  expect(new Set(await Promise.all(early))).toEqual(new Set(['given up']));
  unlock();
  expect(new Set(await Promise.all(late))).toEqual(new Set(['new']));
  const again = Array.from({ length: 100 }, (_, place) => record(`early-${place}`));
  expect(new Set(await Promise.all(again))).toEqual(new Set(['new']));
  expect(new Set(handedOver).size).toBe(200);
});

test('of claims that end together, one that another process has taken over is lost and stays with that', async () => {
  const store = new SqliteStore(temporaryDatabase(), new ManualClock());
  await store.open();
  onTestFinished(() => store.close());
  const claimed = await claimedOf(store, ...['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId)));
  const taken = claimed[1]?.sequence ?? 0;
  store.database.prepare('update claims set process = 99 where sequence = ?').run(taken);
  const ends = await Promise.all(claimed.map((event) => store.settle(settlementOf(event, done))));
  expect(ends).toEqual(['settled', 'lost', 'settled', 'settled']);
  const left = store.database.prepare('select sequence, process from claims').all();
  expect(left).toEqual([{ sequence: taken, process: 99 }]);
});
