import {
  chmodSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, secret } from '../../support/deliveries.ts';
import { Script } from '../../support/process.ts';
import type { ReceiverOptions } from '../../support/public.ts';
import { made, started } from '../../support/receiver.ts';
import { temporaryDatabase, temporaryFolder } from '../../support/temporary.ts';
import { describeStore } from '../conformance/index.ts';

const claimingProcess = fileURLToPath(new URL('./claiming-process.ts', import.meta.url));
const beginningProcess = fileURLToPath(new URL('./beginning-process.ts', import.meta.url));
const readingProcess = fileURLToPath(new URL('./reading-process.ts', import.meta.url));

// Only the writer differs from that of a file.
describe('without a file', { tags: 'long' }, () =>
  describeStore('in memory', () => ({ make: (clock) => new SqliteStore(':memory:', clock) })),
);

describeStore('a SQLite file', () => {
  let file: string | undefined;
  const path = () => (file ??= temporaryDatabase());
  const dieIn = async (process: string) => {
    const script = new Script(process, path());
    await script.line('claimed');
    await script.kill();
  };
  return {
    make: (clock) => new SqliteStore(path(), clock),
    shared: {
      dieHolding: () => dieIn(claimingProcess),
      dieReading: () => dieIn(readingProcess),
      dieBeginning: () => dieIn(beginningProcess),
      lock() {
        const other = new Database(path());
        other.exec('begin immediate');
        return () => other.close();
      },
    },
  };
});

describe('opening', () => {
  test('a database that a newer version wrote is refused, and left as it is', async () => {
    const database = temporaryDatabase();
    const first = await started({ database });
    await deliver(first.receiver, bodyOf());
    await first.receiver.stop();
    const db = new Database(database);
    const known = db.pragma('user_version', { simple: true }) as number;
    db.pragma(`user_version = ${known + 1}`);
    const { receiver } = made({ database });
    await expect(receiver.start()).rejects.toMatchObject({
      code: 'database_newer',
      message: expect.stringMatching(
        new RegExp(
          `has schema version ${known + 1}, but this version .* up to ${known}: a newer version wrote it\\. Run that`,
        ),
      ),
    });
    expect(db.pragma('user_version', { simple: true })).toBe(known + 1);
    expect(db.prepare('select count(*) from events').pluck().get()).toBe(1);
    db.close();
  });

  test.each<[string, string, (path: string) => void]>([
    ['a folder', 'it is a folder, or this process may not open it', (path) => mkdirSync(path)],
    [
      'a text file',
      'file is not a database',
      (path) => writeFileSync(path, 'this is not a database, it is a text'.repeat(100)),
    ],
    ['in a folder that is not there', 'the directory does not exist', () => {}],
  ])('what is %s is refused in a sentence', async (kind, cause, prepare) => {
    const folder = temporaryFolder();
    const database = join(folder, kind === 'in a folder that is not there' ? 'missing/inbox.db' : 'inbox.db');
    prepare(database);
    const { receiver } = made({ database });
    await expect(receiver.start()).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringMatching(
        new RegExp(`^The database ${database} should be a SQLite file.*${cause}`),
      ),
    });
    expect(receiver.isReady).toBe(false);
  });

  test.each<[string, string, string]>([
    ['of other columns', 'alter table events drop column agent_id', 'no such column: agent_id'],
    [
      'that are views',
      'drop table drift; create view drift as select 1',
      'cannot modify drift because it is a view',
    ],
    ['that are gone', 'drop table quarantine', 'no such table: quarantine'],
  ])('an inbox with tables %s is refused in a sentence, and closed', async (_what, sql, cause) => {
    const database = temporaryDatabase();
    const { receiver: before } = await started({ database });
    await before.stop();
    const other = new Database(database);
    onTestFinished(() => void other.close());
    other.exec(`pragma legacy_alter_table = on; ${sql}`);
    const found = `but: it differs from the inbox of this version (${cause}). Check`;
    await expect(made({ database }).receiver.start()).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringContaining(found),
    });
    expect(() => made({ database }).receiver.database.exec('select 1')).toThrow(found);
    // Nobody has it open any more: only then can it leave the mode in which others read it.
    expect(other.pragma('journal_mode = delete', { simple: true })).toBe('delete');
  });

  test.skipIf(process.getuid?.() === 0)(
    'an inbox that can only be read is refused in a sentence',
    async () => {
      const database = temporaryDatabase();
      const { receiver: before } = await started({ database });
      await before.stop();
      chmodSync(database, 0o444);
      const { receiver } = made({ database });
      await expect(receiver.start()).rejects.toMatchObject({
        code: 'database_unreadable',
        message: expect.stringContaining('can only be read'),
      });
    },
  );

  test('makes files that only their owner can read, and leaves the mode of one that exists', async () => {
    const folder = temporaryFolder();
    const database = join(folder, 'ringback.db');
    const modes = () => readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    const first = await started({ database });
    expect(modes()).toEqual([0o600, 0o600, 0o600]);
    await first.receiver.stop();
    chmodSync(database, 0o640);
    await started({ database });
    expect(modes()).toEqual([0o640, 0o640, 0o640]);
  });

  test('makes the file behind a link as private', async () => {
    const folder = temporaryFolder();
    symlinkSync('ringback.db', join(folder, 'link'));
    await started({ database: join(folder, 'link') });
    expect(statSync(join(folder, 'ringback.db')).mode & 0o777).toBe(0o600);
  });

  test('repeatedly keeps the data', async () => {
    const database = temporaryDatabase();
    for (let round = 0; round < 3; round += 1) {
      const { receiver } = await started({ database });
      await deliver(receiver, bodyOf({ traceId: `trace-${round}` }));
      await expect.poll(async () => (await receiver.counts()).events.done).toBe(round + 1);
      await receiver.stop();
    }
  });

  // A second process may find the file locked and not yet in WAL mode, while the first one creates it, or locked by a
  // write.
  test.each([
    ['at the same new file', 'delete'],
    ['writing to the file', 'wal'],
  ])('waits for another process that is %s', { tags: 'long' }, async (_, journal) => {
    const database = temporaryDatabase();
    const first = new Database(database);
    first.pragma(`journal_mode = ${journal}`);
    first.exec('create table something (at_all)');
    first.exec('begin immediate');
    const script = new Script(claimingProcess, database);
    await script.line('opening');
    setTimeout(() => first.close(), 300);
    expect(await script.line('claimed')).toEqual({ claimed: 0 });
    await script.kill();
  });

  test('a damaged file is refused, and is to be restored', async () => {
    const database = temporaryDatabase();
    const { receiver: before } = await started({ database });
    await before.stop();
    truncateSync(database, 8_192);
    await expect(made({ database }).receiver.start()).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringContaining(
        'but: it is damaged (database disk image is malformed). Restore it from a backup.',
      ),
    });
  });

  test(
    'a file that another process has locked for itself is refused in a sentence, in the end',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      // As a sandbox does: no other process can even read the file.
      const other = new Database(database);
      onTestFinished(() => void other.close());
      other.pragma('locking_mode = EXCLUSIVE');
      other.pragma('journal_mode = WAL');
      other.exec('create table its_own (at_all)');
      const { receiver } = made({ database });
      await expect(receiver.start()).rejects.toMatchObject({
        code: 'database_unreadable',
        message: expect.stringMatching(
          /another process has locked it, such as a sandbox or a tool\. Stop that process/,
        ),
      });
    },
  );

  test('a start does not wait for a lock without end', { tags: 'long' }, async () => {
    const { receiver, locker } = await startedBefore();
    locker.exec('begin immediate');
    await expect(receiver().start()).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringContaining('another process has locked it'),
    });
  });

  test('a stop ends a start that waits for a lock', { tags: 'long' }, async () => {
    const { receiver, locker, database } = await startedBefore();
    // What it had claimed is taken over.
    const dead = new Script(claimingProcess, database);
    await dead.line('claimed');
    await dead.kill();
    const clock = new ManualClock();
    const isLocked = Promise.withResolvers<void>();
    // Asked for when the inbox has been opened.
    const secrets = async () => {
      locker.exec('begin immediate');
      isLocked.resolve();
      return secret;
    };
    const second = receiver({ clock, secrets });
    const starting = second.start().catch((error: unknown) => error);
    await isLocked.promise;
    await clock.runUntil(second.stop({ drain: 0 }));
    expect(await starting).toBeInstanceOf(Error);
  });

  test('makes every commit reach the disk', async () => {
    const database = temporaryDatabase();
    const { receiver } = await started({ database });
    expect(receiver.database.prepare('pragma synchronous').get()).toEqual({ synchronous: 2 });
    expect(receiver.database.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });
});

/** An inbox on which a receiver has been started before, another receiver on it, and a connection that can lock it. */
async function startedBefore() {
  const database = temporaryDatabase();
  const { receiver: former } = await started({ database });
  await former.stop();
  const locker = new Database(database);
  onTestFinished(() => void locker.close());
  return {
    database,
    locker,
    receiver: (options: ReceiverOptions = {}) => made({ ...options, database }).receiver,
  };
}

test('while a reader prevents the checkpoint, erased data is not rewritten into the WAL with each try', async () => {
  const database = temporaryDatabase();
  const store = new SqliteStore(database, new ManualClock());
  await store.open();
  onTestFinished(() => store.close());
  await store.retention.eraseEvents([], 0);
  const reader = new Database(database);
  reader.exec('begin');
  reader.prepare('select count(*) from events').get();
  const { size } = statSync(`${database}-wal`);
  for (const _ of ['the first try', 'the next']) {
    const left = { checkpointed: false, compacted: false };
    expect(await store.retention.compact?.({ onlyIfNeeded: true })).toEqual(left);
    expect(statSync(`${database}-wal`).size).toBe(size);
  }
  reader.close();
  const done = { checkpointed: true, compacted: true };
  expect(await store.retention.compact?.({ onlyIfNeeded: true })).toEqual(done);
});
