/** A process crashes, and the WAL that it leaves behind is removed before the next one starts. */
import { copyFileSync, existsSync, linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ringbackProcess } from '../cli/command.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { ReceiverProcess, Script } from '../support/process.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts';

const unstopped = fileURLToPath(new URL('./unstopped-receiver.ts', import.meta.url));
const writerEnded = fileURLToPath(new URL('./writer-ended.ts', import.meta.url));

/** Runs a receiver in another process. */
function running(database: string): ReceiverProcess {
  return new ReceiverProcess({ database, file: join(temporaryFolder(), 'handled'), handlers: 'none' });
}

async function accepted(process: ReceiverProcess): Promise<void> {
  const body = bodyOf();
  const { status } = await fetch(await process.url(), { method: 'POST', headers: signedHeaders(body), body });
  expect(status).toBe(200);
}

/** The database of a process that has stored one event and was killed. */
async function crashed(): Promise<string> {
  const database = temporaryDatabase();
  const process = running(database);
  await accepted(process);
  await process.kill();
  return database;
}

/** How often a start says that the WAL is missing. */
async function reportsOf(database: string): Promise<number> {
  const { receiver, logs } = await started({ database });
  await receiver.stop();
  return logs.of('wal_missing').length;
}

test.each([[['-wal']], [['-wal', '-shm']]])(
  'a start says once that %s is missing',
  { tags: 'long' },
  async (ends) => {
    const database = await crashed();
    for (const end of ends) rmSync(`${database}${end}`);
    const { receiver, logs } = await started({ database });
    expect(logs.of('wal_missing')).toMatchObject([{ level: 50, database }]);
    // What is stored from now on is not concerned.
    expect((await deliver(receiver)).status).toBe(200);
    await receiver.stop();
    expect(await reportsOf(database)).toBe(0);
  },
);

test('an inbox that a process has open under another name is refused, until that process has ended', async () => {
  const database = temporaryDatabase();
  const process = running(database);
  await accepted(process);
  const link = `${database}-link`;
  linkSync(database, link);
  await expect(started({ database: link })).rejects.toMatchObject({
    code: 'database_unreadable',
    message: expect.stringContaining(
      'it has another name (a hard link), and its WAL is beside that one',
    ) as string,
  });
  await accepted(process);
  await process.stop();
  const { receiver } = await started({ database: link });
  expect(await receiver.counts()).toMatchObject({ events: { new: 2 } });
});

test('an inbox whose -shm was deleted is refused, until the process that has it open has ended', async () => {
  const database = temporaryDatabase();
  const process = running(database);
  await accepted(process);
  rmSync(`${database}-shm`);
  for (let start = 0; start < 2; start += 1)
    await expect(started({ database })).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringContaining('the -shm of that process was deleted') as string,
    });
  await accepted(process);
  await process.stop();
  const { receiver, logs } = await started({ database });
  expect(await receiver.counts()).toMatchObject({ events: { new: 2 } });
  expect(logs.of('wal_missing')).toEqual([]);
});

test('nor is it accepted when another process has just stopped', async () => {
  const database = temporaryDatabase();
  const process = running(database);
  await accepted(process);
  const { receiver } = await started({ database });
  rmSync(`${database}-shm`);
  await receiver.stop();
  await expect(started({ database })).rejects.toMatchObject({ code: 'database_unreadable' });
  await accepted(process);
  await process.stop();
});

test('nor is anything written to it under another name after a crash', { tags: 'long' }, async () => {
  const database = await crashed();
  const link = `${database}-link`;
  linkSync(database, link);
  const before = readFileSync(database);
  await expect(started({ database: link })).rejects.toMatchObject({ code: 'database_unreadable' });
  expect(readFileSync(database).equals(before)).toBe(true);
});

describe('nothing is said', () => {
  test('when the doctor has looked at it after the crash', { tags: 'long' }, async () => {
    const database = await crashed();
    const { stdout } = await ringbackProcess(['doctor', '--database', database]);
    expect(stdout).toContain('events: 1, of which 1 are not done');
    expect(await reportsOf(database)).toBe(0);
  });

  test('after a crash that left its WAL, nor at the start after that', { tags: 'long' }, async () => {
    const database = await crashed();
    expect(existsSync(`${database}-wal`)).toBe(true);
    expect(await reportsOf(database)).toBe(0);
    expect(await reportsOf(database)).toBe(0);
  });

  test('after a stop', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const process = running(database);
    await accepted(process);
    await process.stop();
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(await reportsOf(database)).toBe(0);
  });

  test('when a command has looked at the inbox after the crash', { tags: 'long' }, async () => {
    const database = await crashed();
    const { code } = await ringbackProcess(['inbox', 'counts', '--database', database]);
    expect(code).toBe(0);
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(await reportsOf(database)).toBe(0);
  });

  test(
    'when another process that shared the database has stopped after the crash',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const [one, other] = [running(database), running(database)];
      await Promise.all([accepted(one), accepted(other)]);
      await one.kill();
      await other.stop();
      expect(existsSync(`${database}-wal`)).toBe(false);
      expect(await reportsOf(database)).toBe(0);
    },
  );

  test.each(['vacuum into', 'backup'])(
    'of a copy that SQLite has made by %s',
    { tags: 'long' },
    async (how) => {
      const database = temporaryDatabase();
      const copy = join(temporaryFolder(), 'copy.db');
      const process = running(database);
      await accepted(process);
      const connection = new Database(database);
      if (how === 'backup') await connection.backup(copy);
      else connection.prepare('vacuum into ?').run(copy);
      connection.close();
      await process.kill();
      for (const end of ['', '-wal', '-shm']) rmSync(`${database}${end}`);
      renameSync(copy, database);
      expect(await reportsOf(database)).toBe(0);
      const elsewhere = temporaryDatabase();
      copyFileSync(database, elsewhere);
      expect(await reportsOf(elsewhere)).toBe(0);
    },
  );

  test('when several start at the same time', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    expect(await reportsOf(database)).toBe(0);
    const receivers = await Promise.all([1, 2, 3, 4].map(() => started({ database })));
    for (const { logs } of receivers) expect(logs.of('wal_missing')).toEqual([]);
  });

  test(
    'after a process that ended without a stop because it had nothing left to do',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const process = new Script(unstopped, JSON.stringify({ database }));
      await process.line('started');
      expect(await process.exit()).toBe(0);
      expect(await reportsOf(database)).toBe(0);
    },
  );

  test('after a stop without a writer thread, which had ended', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const process = new Script(writerEnded, JSON.stringify({ database, isStarting: false }));
    expect(await process.line('stopped')).toEqual({ stopped: true });
    expect(await process.exit()).toBe(0);
    expect(await reportsOf(database)).toBe(0);
  });

  test('after a worker thread was terminated', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const worker = new Worker(unstopped, {
      argv: [JSON.stringify({ database, stays: true })],
      stdout: true,
    });
    onTestFinished(() => void worker.terminate());
    await new Promise((resolve) => worker.stdout.once('data', resolve));
    await worker.terminate();
    expect(await reportsOf(database)).toBe(0);
  });
});
