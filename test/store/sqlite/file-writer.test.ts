/** What the app's thread may rely on of the writer thread, tested below the receiver. */
import { copyFileSync, renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { MessagePort } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { borrowPause } from '../../../src/store/sqlite/settle-with.ts';
import type { Recording } from '../../../src/store/store.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import { Script } from '../../support/process.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { claimedOf, claimedRuns, done, endOf, eventOf, record, traceIdsOf } from '../parts.ts';

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

/** An open store. Its time stands still. */
async function opened(): Promise<SqliteStore> {
  const store = new SqliteStore(temporaryDatabase(), new ManualClock());
  await store.open();
  onTestFinished(() => store.close());
  return store;
}

/** How many processes the file says have it open. */
function processesIn(file: string): unknown {
  const database = new Database(file);
  const count = database.prepare('select count(*) from processes').pluck().get();
  database.close();
  return count;
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
    const store = await opened();
    const outcomes: string[] = [];
    const recordOne = async (index: number): Promise<void> => {
      outcomes[index] = 'waiting';
      outcomes[index] = await record(store, eventOf(`trace-${index}`, { body })).catch(
        ({ message }) => message,
      );
    };
    const recording: Promise<void>[] = [];
    // The writer waits while the app has its lock.
    store.database.transaction(() => {
      for (let index = 0; index < most + 2; index += 1) recording.push(recordOne(index));
      expect(store.isOverloaded()).toBe(true);
    });
    await Promise.all(recording);
    expect(new Set(outcomes.slice(most))).toEqual(new Set(['the database is overloaded']));
    expect(new Set(outcomes.slice(0, most))).toEqual(new Set(['new']));
    expect(store.isOverloaded()).toBe(false);
    // There is room again, and the refused events were not stored.
    expect(await record(store, eventOf(`trace-${most}`, { body }))).toBe('new');
  },
);

test('what was given up may be written later, and is then a duplicate when it comes again', async () => {
  const { clock, store, unlock } = await openedAndLocked();
  const recordAll = () =>
    Array.from({ length: 100 }, (_, index) => store.record(eventOf(`trace-${index}`), true));
  const outcomes = (recordings: readonly Recording[]) =>
    Promise.all(recordings.map(({ written }) => written.catch(() => 'given up')));
  const claims = (recordings: readonly Recording[]) =>
    Promise.all(recordings.map(async ({ claimed }) => (await claimed)?.traceId));
  const first = recordAll();
  await turn();
  clock.advance(700);
  expect(new Set(await outcomes(first))).toEqual(new Set(['given up']));
  unlock();
  const claimed = await claims(first);
  const again = recordAll();
  expect(await outcomes(again)).toEqual(claimed.map((traceId) => (traceId ? 'duplicate' : 'new')));
  const all = [...claimed, ...(await claims(again))].filter((traceId) => traceId !== undefined);
  expect(all).toHaveLength(100);
  expect(new Set(all).size).toBe(100);
});

test(
  'while another process has the lock, deliveries fail, and nothing of them is left',
  { tags: 'long' },
  async () => {
    const { store, unlock } = await openedAndLocked();
    const recordAll = () =>
      Promise.all(
        Array.from({ length: 2_000 }, (_, index) =>
          record(store, eventOf(`trace-${index}`)).catch(({ message }) => message),
        ),
      );
    expect(new Set(await recordAll())).toEqual(new Set(['database is locked']));
    unlock();
    expect(new Set(await recordAll())).toEqual(new Set(['new']));
  },
);

test('what no sender waits for is repeated for some seconds', { tags: 'long' }, async () => {
  const { clock, file, store, unlock } = await openedAndLocked();
  const waiting = store.claimEvents(10);
  await clock.timer(5_000);
  unlock();
  expect(await waiting).toEqual([]);
  await turn();
  const unlockAgain = locked(file);
  const failing = store.claimEvents(10).catch((error: unknown) => error);
  await clock.timer(5_000);
  clock.advance(5_000);
  expect(await failing).toMatchObject({ code: 'database_unreadable' });
  unlockAgain();
});

test(
  'a process that has left is not entered again by a heartbeat that was locked out',
  { tags: 'long' },
  async () => {
    const { clock, file, store, unlock } = await openedAndLocked();
    unlock();
    await claimedOf(store, eventOf('held'));
    const unlockAgain = locked(file);
    const heartbeat = store.keepAlive().catch(() => {});
    for (let turned = 0; turned < 50; turned += 1) await turn();
    const closing = store.close();
    await clock.timer(5_000);
    unlockAgain();
    await Promise.all([heartbeat, closing]);
    expect(processesIn(file)).toBe(0);
  },
);

test('nor by one that waited until the due times were corrected', async () => {
  const { clock, file, store, unlock } = await openedAndLocked();
  clock.setWallClock(86_400_000);
  const heartbeat = store.keepAlive().catch(() => {});
  for (let turned = 0; turned < 5; turned += 1) await turn();
  const closing = store.close();
  for (let turned = 0; turned < 5; turned += 1) await turn();
  unlock();
  await Promise.all([heartbeat, closing]);
  expect(processesIn(file)).toBe(0);
});

test('events that can not be sent to the writer thread fail, and no other is given their outcome', async () => {
  const store = await opened();
  const send = vi.spyOn(MessagePort.prototype, 'postMessage').mockImplementationOnce(() => {
    throw new RangeError('Array buffer allocation failed');
  });
  const { written, claimed } = store.record(eventOf('unsent'), true);
  send.mockRestore();
  await expect(written).rejects.toThrow('Array buffer allocation failed');
  expect(await claimed).toBeUndefined();
  const next = store.record(eventOf('next'), true);
  expect(await next.written).toBe('new');
  expect(await next.claimed).toMatchObject({ traceId: 'next' });
  expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
});

test('what is claimed arrives in the order of the claims, also if several commits are reported to the app at once', async () => {
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

test('what is claimed arrives in the order of the claims, also if they are in one commit', async () => {
  const store = await opened();
  const arrived: string[] = [];
  const recordOne = async (traceId: string, mayClaim: boolean) => {
    const claimed = await store.record(eventOf(traceId), mayClaim).claimed;
    if (claimed) arrived.push(claimed.traceId);
  };
  const claim = async () => void arrived.push(...traceIdsOf(await store.claimEvents(10)));
  // The first one is sent at once, and all others together.
  await Promise.all([
    recordOne('first', true),
    claim(),
    recordOne('second', true),
    recordOne('third', false),
  ]);
  expect(arrived).toEqual(['first', 'second', 'third']);
});

test('of claims that end together, one that another process has taken over is lost and stays with that', async () => {
  const store = await opened();
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
    await clock.timer(borrowPause);
    clock.advance(apart);
  }
  renameSync(file, `${file}-moved`);
  copyFileSync(`${file}-moved`, file);
  clock.advance(borrowPause);
  const replaced = expect.objectContaining({ code: 'database_replaced' });
  expect(await Promise.all(outcomes)).toEqual([replaced, replaced]);
  unlock();
});

test(
  'an event that comes before the new writer thread of a process has entered that again is claimed once',
  { tags: 'long' },
  async () => {
    const script = fileURLToPath(new URL('./locked-out-process.ts', import.meta.url));
    const app = new Script(script, JSON.stringify({ database: temporaryDatabase() }));
    const processes = [[true, ['orders']]];
    expect(await app.line('claimed')).toEqual({ claimed: ['before', 'meanwhile'], processes });
  },
);
