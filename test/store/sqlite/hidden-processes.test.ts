/** Living processes on one machine of which not everything can be read, as where a service may not see all of /proc. */
import { spawnSync } from 'node:child_process';
import Database from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { claimedOf, eventOf, presentTime } from '../parts.ts';

const { hidden } = vi.hoisted(() => ({ hidden: new Set<string>() }));
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs')>();
  const readFileSync = (path: string, encoding: BufferEncoding) => {
    if (hidden.has(path)) throw new Error('hidden');
    return original.readFileSync(path, encoding);
  };
  const readlinkSync = (path: string) => (hidden.has(path) ? '1' : original.readlinkSync(path));
  return { ...original, readFileSync, readlinkSync };
});

let here: SqliteStore;
let elsewhere: SqliteStore;
let other: Database.Database;

beforeEach(async () => {
  hidden.clear();
  const file = temporaryDatabase();
  [here, elsewhere] = [openable(file), openable(file)];
  await here.open();
  await elsewhere.open();
  other = new Database(file);
  onTestFinished(() => void other.close());
});

function openable(file: string): SqliteStore {
  const store = new SqliteStore(file, new ManualClock(presentTime));
  onTestFinished(() => store.close());
  return store;
}

/** Changes what the row of the process elsewhere says of it. */
function change(field: string, value: string | number): void {
  const last = '(select max(id) from processes)';
  other
    .prepare(`update processes set identity = json_set(identity, ?, ?) where id = ${last}`)
    .run(`$.${field}`, value);
}

function heartbeats(): unknown[] {
  return other.prepare('select heartbeats from processes order by id').pluck().all();
}

/** Looks for dead processes `count` times, and returns how much each look has taken over. */
async function looks(count: number): Promise<number[]> {
  const takenOver: number[] = [];
  for (let look = 0; look < count; look += 1) takenOver.push((await here.keepAlive()).takenOver);
  return takenOver;
}

/** What the process elsewhere could not read of itself, or of the machine. */
const unread = ['boot', 'namespace', 'startedAt'];

test.each(unread)(
  'one that could not read its %s is dead only after it missed its heartbeats',
  async (field) => {
    await claimedOf(elsewhere, eventOf('held'));
    change(field, '');
    expect(await looks(5)).toEqual([0, 0, 0, 1, 0]);
  },
);

test('one whose start is hidden from this one is dead only after it missed its heartbeats', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  change('pid', process.ppid);
  hidden.add(`/proc/${process.ppid}/stat`);
  expect(await looks(5)).toEqual([0, 0, 0, 1, 0]);
});

test('one is dead only after it missed its heartbeats where /proc shows the processes of another namespace', async () => {
  await claimedOf(elsewhere, eventOf('held'));
  change('startedAt', '1');
  hidden.add('/proc/self');
  expect(await looks(5)).toEqual([0, 0, 0, 1, 0]);
});

test.each(['boot', 'startedAt'])(
  'one that could not read its %s is dead at once if its id is gone',
  async (field) => {
    await claimedOf(elsewhere, eventOf('held'));
    change(field, '');
    change('pid', spawnSync(process.execPath, ['--version']).pid);
    expect(await looks(2)).toEqual([1, 0]);
  },
);

test('one that does not know that it is hidden is notified, and heartbeats even without claims', async () => {
  change('startedAt', '');
  expect(await looks(3)).toEqual([0, 0, 0]);
  await elsewhere.keepAlive();
  await claimedOf(elsewhere, eventOf('held'));
  expect(await looks(3)).toEqual([0, 0, 0]);
});

test(
  'nobody heartbeats where all can see each other, nor any longer once the hidden one has left',
  { tags: 'long' },
  async () => {
    const rounds = async (): Promise<void> => {
      for (const store of [here, elsewhere, here, elsewhere]) await store.keepAlive();
    };
    await rounds();
    expect(heartbeats()).toEqual([0, 0]);
    const third = openable(other.name);
    await third.open();
    change('boot', '');
    await rounds();
    const [first = 0, second = 0] = heartbeats() as number[];
    expect([first, second]).toEqual([2, 2]);
    await third.close();
    await rounds();
    const after = heartbeats();
    await rounds();
    expect(heartbeats()).toEqual(after);
  },
);
