/** Processes that have a file open together, and know each other by their heartbeats. */
import Database from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  claimedRuns,
  done,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
  runOf,
} from '../parts.ts';

let file: string;
let clock: ManualClock;
let here: SqliteStore;
let elsewhere: SqliteStore;

beforeEach(async () => {
  file = temporaryDatabase();
  clock = new ManualClock(presentTime);
  [here, elsewhere] = [new SqliteStore(file, clock), new SqliteStore(file, new ManualClock(presentTime))];
  for (const store of [here, elsewhere]) {
    await store.open();
    onTestFinished(() => store.close());
  }
});

/** Looks for dead processes `count` times, and returns how much each look has taken over. */
async function looks(count: number): Promise<number[]> {
  const takenOver: number[] = [];
  for (let look = 0; look < count; look += 1) takenOver.push((await here.keepAlive()).takenOver);
  return takenOver;
}

test('one with claims and without heartbeats is dead at the third check after the first', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(5)).toEqual([0, 0, 0, 1, 0]);
});

test('one that was taken for dead and enters again is still known by its handlers', async () => {
  await elsewhere.announce(['orders']);
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(5)).toEqual([0, 0, 0, 1, 0]);
  expect(await here.announce(['journal'])).toEqual([]);
  await claimedOf(elsewhere, eventOf('next'));
  await elsewhere.keepAlive();
  expect(await here.announce(['journal'])).toEqual([['orders']]);
});

test('one that was taken for dead can write nothing more about what it held, also when it has claimed it again', async () => {
  const run = await claimedRun(elsewhere, eventOf('held'));
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
  const again = runOf(elsewhere, only(await elsewhere.claimEvents(10)));
  expect(await elsewhere.countAttempt(run)).toBeUndefined();
  expect(await elsewhere.settle(run, endOf(done))).toBe('lost');
  expect(await elsewhere.settle(again, endOf(done))).toBe('settled');
  expect((await here.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
});

test('its death does not count for an event that it has only read to find its handlers', async () => {
  await claimedOf(elsewhere, eventOf('a'), eventOf('b'));
  expect(await looks(4)).toEqual([0, 0, 0, 2]);
  const [routed, tried] = await elsewhere.claimEvents(10);
  if (!routed || !tried) throw new Error('There are not two events.');
  for (const one of [routed, runOf(elsewhere, tried)]) {
    await elsewhere.beginReading(one);
    await elsewhere.endReading(one);
  }
  expect(await looks(4)).toEqual([0, 0, 0, 2]);
  expect(await here.claimEvents(10)).toMatchObject([
    { traceId: 'a', crashCount: 1 },
    { traceId: 'b', crashCount: 2 },
  ]);
});

test('its death counts for an event that it has read to find its other handlers while a run of it went on', async () => {
  const event = only(await claimedOf(elsewhere, eventOf('a')));
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
  const routed = only(await elsewhere.claimEvents(10));
  const [first] = elsewhere.runsOf(routed, [handlerOf('first'), handlerOf('second')]);
  if (first) await elsewhere.countAttempt(first);
  expect(await looks(4)).toEqual([0, 0, 0, 2]);
  const again = only(await claimDue(elsewhere, handlerOf('first')));
  await elsewhere.beginReading(again);
  await elsewhere.endReading(again);
  await elsewhere.countAttempt(again);
  const other = only(await elsewhere.claimEvents(10));
  await elsewhere.beginReading(other);
  await elsewhere.endReading(other);
  expect(await looks(4)).toEqual([0, 0, 0, 2]);
  expect(await here.claimEvents(10)).toMatchObject([
    { sequence: event.sequence, crashCount: 2, readingCrashes: 0 },
  ]);
});

test('one that heartbeats keeps its claims', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  for (let round = 0; round < 4; round += 1) {
    expect(await looks(3)).toEqual([0, 0, 0]);
    await elsewhere.keepAlive();
  }
});

test('one without claims heartbeats too, so that it is not dead as soon as it has one', async () => {
  for (let round = 0; round < 4; round += 1) {
    expect(await looks(3)).toEqual([0, 0, 0]);
    await elsewhere.keepAlive();
  }
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(3)).toEqual([0, 0, 0]);
});

test('one with other claims at each check is alive', async () => {
  for (let round = 0; round < 6; round += 1) {
    const run = await claimedRun(elsewhere, eventOf(`held-${round}`));
    expect(await looks(1)).toEqual([0]);
    expect(await elsewhere.settle(run, endOf(done))).toBe('settled');
    await elsewhere.keepAlive();
  }
});

test('a process with claims of its own takes as many checks', async () => {
  await claimedOf(here, eventOf('own', { callId: 'call-own' }));
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
});

test('one that could not write is not dead', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(3)).toEqual([0, 0, 0]);
  const holder = new Database(file);
  onTestFinished(() => void holder.close());
  holder.exec('begin immediate');
  const locked = looks(1);
  clock.advance(2_000);
  holder.exec('rollback');
  await clock.runUntil(locked);
  expect(await locked).toEqual([0]);
  expect(await looks(3)).toEqual([0, 0, 0]);
});

test('one whose heartbeats are missing is not dead if this one could not write its own', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(3)).toEqual([0, 0, 0]);
  const holder = new Database(file);
  onTestFinished(() => void holder.close());
  holder.exec('begin immediate');
  const failing = here.keepAlive();
  failing.catch(() => {});
  await clock.runUntil(failing);
  await expect(failing).rejects.toThrow();
  holder.exec('rollback');
  expect(await looks(3)).toEqual([0, 0, 0]);
});

test('one that is idle writes only while it has another beside it', async () => {
  const other = new Database(file, { readonly: true });
  onTestFinished(() => void other.close());
  const version = () => other.pragma('data_version', { simple: true });
  const writes = async (): Promise<boolean> => {
    const before = version();
    await here.keepAlive();
    return version() !== before;
  };
  expect(await writes()).toBe(true);
  await elsewhere.close();
  // What has left has perhaps removed the WAL: this one notes that there is one.
  expect(await writes()).toBe(true);
  expect(await writes()).toBe(false);
});

test('one whose entering again is rolled back does not take the id of another', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
  const db = new Database(file);
  onTestFinished(() => void db.close());
  db.exec(`create trigger refuse before insert on claims begin select raise(abort, 'refused'); end`);
  await expect(elsewhere.claimEvents(10)).rejects.toThrow('refused');
  db.exec('drop trigger refuse');
  const third = new SqliteStore(file, clock);
  await third.open();
  onTestFinished(() => third.close());
  await elsewhere.keepAlive();
  expect(await here.handlers.processes()).toHaveLength(3);
});

test('one that was taken for dead claims what it records under an id that can be taken over', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
  await here.settle(runOf(here, only(await here.claimEvents(10))), endOf(done));
  expect(await elsewhere.record(eventOf('next'), true).claimed).toMatchObject({ traceId: 'next' });
  expect(await looks(4)).toEqual([0, 0, 0, 1]);
});

test('of claims that end together, one from before its process was taken for dead is lost', async () => {
  const [, stale] = await claimedRuns(elsewhere, [eventOf('a'), eventOf('b')]);
  expect(await looks(4)).toEqual([0, 0, 0, 2]);
  const [first, again] = (await elsewhere.claimEvents(10)).map((event) => runOf(elsewhere, event));
  if (!stale || !first || !again) throw new Error('nothing was claimed');
  const ends = [first, stale].map((run) => elsewhere.settle(run, endOf(done)));
  expect(await Promise.all(ends)).toEqual(['settled', 'lost']);
  expect(await elsewhere.settle(again, endOf(done))).toBe('settled');
});
