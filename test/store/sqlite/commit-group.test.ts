/** When a write of the main thread counts, tested below the receiver. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { CommitGroup } from '../../../src/store/sqlite/writer/commit-group.ts';
import { CommitThread } from '../../../src/store/sqlite/writer/commit-thread.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { MainTurn } from '../../../src/store/sqlite/writer/turn.ts';
import { Unconfirmed } from '../../../src/store/unconfirmed.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import { messageOf } from '../../../src/kit/error-text.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { filesOf } from './opened-files.ts';

/** A group whose syncs end when the test says so. */
function groupWithSyncs() {
  const database = new Database(temporaryDatabase());
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('create table notes (text)');
  const syncs: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const synced = () => () => new Promise<void>((resolve, reject) => syncs.push({ resolve, reject }));
  const files = { problem: undefined, look: () => undefined };
  const group = new CommitGroup(database, new ManualClock(), { inTurn: (work) => work(), synced, files });
  const states: Record<string, string> = {};
  const write = (text: string, endsWithProcess = false): void => {
    states[text] = 'waiting';
    const written = group.write(() => database.prepare('insert into notes values (?)').run(text), {
      endsWithProcess,
    });
    void written.then(
      () => (states[text] = 'written'),
      () => (states[text] = 'failed'),
    );
  };
  return { database, syncs, group, states, write };
}

test('a write counts when it is synced, and not when it is committed', async () => {
  const { database, syncs, states, write } = groupWithSyncs();
  write('first');
  await turn();
  expect(database.prepare('select text from notes').pluck().all()).toEqual(['first']);
  expect(states).toEqual({ first: 'waiting' });
  syncs[0]?.resolve();
  await turn();
  expect(states).toEqual({ first: 'written' });
});

test('what ends with its process counts at once, beside a write that does not', async () => {
  const { syncs, states, write } = groupWithSyncs();
  write('claim', true);
  write('effects');
  await turn();
  expect(states).toEqual({ claim: 'written', effects: 'waiting' });
  expect(syncs.length).toBe(1);
  syncs[0]?.resolve();
  await turn();
  expect(states).toEqual({ claim: 'written', effects: 'written' });
});

test('a claim alone asks for no sync', async () => {
  const { syncs, states, write } = groupWithSyncs();
  write('claim', true);
  await turn();
  expect(states).toEqual({ claim: 'written' });
  expect(syncs).toEqual([]);
});

test('a write whose sync failed has failed, and nothing is left to wait for', async () => {
  const { syncs, states, write, group } = groupWithSyncs();
  write('first');
  await turn();
  let isDrained = false;
  const drained = group.drained().then(() => (isDrained = true));
  await turn();
  expect(isDrained).toBe(false);
  syncs[0]?.reject(new Error('the disk refused'));
  await drained;
  expect(states).toEqual({ first: 'failed' });
});

test('what the disk did not confirm is there, and it can be asked again', async () => {
  const { database, group, syncs } = groupWithSyncs();
  const written = group.write(() => database.prepare("insert into notes values ('first')").run());
  const refused = written.catch((error: unknown) => error);
  await turn();
  syncs[0]?.reject(new Error('the disk refused'));
  const unconfirmed = (await refused) as Unconfirmed;
  expect(unconfirmed).toBeInstanceOf(Unconfirmed);
  expect(unconfirmed.message).toBe('the disk refused');
  expect(database.prepare('select text from notes').pluck().all()).toEqual(['first']);
  const again = unconfirmed.confirm().catch(messageOf);
  syncs[1]?.reject(new Error('the disk refused once more'));
  expect(await again).toBe('the disk refused once more');
  const confirmed = unconfirmed.confirm();
  syncs[2]?.resolve();
  await confirmed;
});

test('outside of the group every commit sees to its own sync', async () => {
  const { database, syncs, write } = groupWithSyncs();
  write('first');
  await turn();
  syncs[0]?.resolve();
  expect(database.pragma('synchronous', { simple: true })).toBe(2);
});

/** A commit thread on a database that already exists. */
async function commitThread() {
  const file = temporaryDatabase();
  const store = new SqliteStore(file, systemClock);
  await store.open();
  onTestFinished(() => store.close());
  const data = { file, files: filesOf(file), process: 1, identity: 'test' };
  const thread = new CommitThread(data, new MainTurn(), systemClock, () => {});
  await thread.ready();
  return { file, thread };
}

test('the commit thread syncs what others have written, with nothing of its own to write', async () => {
  const { thread } = await commitThread();
  await Promise.all([thread.synced(), thread.synced()]);
  await thread.synced();
  await thread.close();
});

test('a sync needs no lock: one that another process has holds up commits only', async () => {
  const { file, thread } = await commitThread();
  const other = new Database(file);
  other.exec('begin immediate');
  let isFinished = false;
  thread.settle(
    1,
    () => (isFinished = true),
    () => {},
  );
  await turn();
  await thread.synced();
  // Asks again, because the commit thread now certainly has the settlement and waits for the lock.
  await thread.synced();
  expect(isFinished).toBe(false);
  other.close();
  await thread.close();
  expect(isFinished).toBe(true);
});
