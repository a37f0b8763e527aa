/** What the app's thread may rely on of the writer thread, tested below the receiver. */
import { copyFileSync, renameSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { ClaimedEvent } from '../../../src/store/claims.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { lockedPause } from '../../../src/store/sqlite/settle-with.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { claimedRuns, done, endOf, eventOf, record, traceIdsOf } from '../parts.ts';

/** Locks the database through another connection; returns the function that unlocks it. */
function locked(file: string): () => void {
  const other = new Database(file);
  other.exec('begin immediate');
  return () => other.close();
}

/** An open store whose database is locked, and the function that unlocks it. Its time stands still. */
async function openedAndLocked() {
  const file = temporaryDatabase();
  const clock = new ManualClock();
  const store = new SqliteStore(file, clock);
  await store.open();
  onTestFinished(() => store.close());
  return { file, clock, store, unlock: locked(file) };
}

/** Blocks the event loop until this is so. */
function blockUntil(isSo: () => boolean): void {
  const end = Date.now() + 5_000;
  while (!isSo()) if (Date.now() > end) throw new Error('it is still not so');
}

const full = [
  { what: 'writes', most: 16_384, body: Buffer.from('{}') },
  { what: 'bytes', most: 48, body: Buffer.alloc(1024 * 1024, 'x') },
];

test.each(full)(
  'an overloaded database accepts at most so many $what',
  { tags: 'long' },
  async ({ most, body }) => {
    const { store, unlock } = await openedAndLocked();
    const outcomes: string[] = [];
    const recordOne = async (place: number): Promise<void> => {
      outcomes[place] = 'waiting';
      outcomes[place] = await record(store, eventOf(`trace-${place}`, { body })).catch(
        ({ message }) => message,
      );
    };
    const under = Array.from({ length: most }, (_, place) => recordOne(place));
    const beyond = [recordOne(most), recordOne(most + 1)];
    await Promise.all(beyond);
    expect(new Set(outcomes.slice(most))).toEqual(new Set(['the database has fallen behind']));
    expect(new Set(outcomes.slice(0, most))).toEqual(new Set(['waiting']));
    expect(store.isOverloaded()).toBe(true);
    unlock();
    await Promise.all(under);
    expect(new Set(outcomes.slice(0, most))).toEqual(new Set(['new']));
    expect(store.isOverloaded()).toBe(false);
    // There is room again, and the refused events were not stored.
    expect(await record(store, eventOf(`trace-${most}`, { body }))).toBe('new');
  },
);

test('what was given up is not stored later, and is no duplicate when it comes again', async () => {
  const { clock, store, unlock } = await openedAndLocked();
  const claims: Promise<ClaimedEvent | undefined>[] = [];
  const recordMany = (name: string): Promise<string>[] =>
    Array.from({ length: 100 }, (_, place) => {
      const { written, claimed } = store.record(eventOf(`${name}-${place}`), true);
      claims.push(claimed);
      return written.catch(() => 'given up');
    });
  const early = recordMany('early');
  await turn();
  clock.advance(400);
  const late = recordMany('late');
  await turn();
  clock.advance(400);
  expect(new Set(await Promise.all(early))).toEqual(new Set(['given up']));
  unlock();
  expect(new Set(await Promise.all(late))).toEqual(new Set(['new']));
  expect(new Set(await Promise.all(recordMany('early')))).toEqual(new Set(['new']));
  const claimed = (await Promise.all(claims)).filter((event) => event !== undefined);
  expect(claimed).toHaveLength(200);
  expect(new Set(traceIdsOf(claimed)).size).toBe(200);
});

test('what is claimed arrives in the order of the claims, also if the app hears of several commits at once', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock();
  const store = new SqliteStore(file, clock);
  await store.open();
  onTestFinished(() => store.close());
  await record(store, eventOf('first'));
  const arrived: string[] = [];
  const claiming = store.claimEvents(10).then((events) => void arrived.push(...traceIdsOf(events)));
  await turn();
  // From here on, nothing arrives by itself.
  const other = new Database(file);
  const claims = other.prepare('select count(*) from claims').pluck();
  blockUntil(() => claims.get() === 1);
  const { written, claimed } = store.record(eventOf('second'), true);
  const recording = claimed.then((event) => void (event && arrived.push(event.traceId)));
  blockUntil(() => claims.get() === 2);
  other.close();
  // Before a delivery is given up, everything that has arrived is received.
  clock.advance(700);
  await Promise.allSettled([claiming, recording, written]);
  expect(arrived).toEqual(['first', 'second']);
});

test('of claims that end together, one that another process has taken over is lost and stays with that', async () => {
  const store = new SqliteStore(temporaryDatabase(), new ManualClock());
  await store.open();
  onTestFinished(() => store.close());
  const records = ['a', 'b', 'c', 'd'].map((traceId) => eventOf(traceId));
  const claimed = await claimedRuns(store, records);
  const taken = claimed[1]?.sequence ?? 0;
  store.database.prepare('update claims set process = 99 where sequence = ?').run(taken);
  const ends = await Promise.all(claimed.map((run) => store.settle(run, endOf(done))));
  expect(ends).toEqual(['settled', 'lost', 'settled', 'settled']);
  const left = store.database.prepare('select sequence, process from claims').all();
  expect(left).toEqual([{ sequence: taken, process: 99 }]);
});

test('effects that wait for a lock fail when the database is replaced meanwhile, all of them', async () => {
  const { file, clock, store, unlock } = await openedAndLocked();
  const outcomes: Promise<unknown>[] = [];
  for (const apart of [7, 0]) {
    outcomes.push(store.rehearse(() => {}).catch((error: unknown) => error));
    await clock.timer(lockedPause);
    clock.advance(apart);
  }
  renameSync(file, `${file}-moved`);
  copyFileSync(`${file}-moved`, file);
  clock.advance(lockedPause);
  const replaced = expect.objectContaining({ code: 'database_replaced' });
  expect(await Promise.all(outcomes)).toEqual([replaced, replaced]);
  unlock();
});
