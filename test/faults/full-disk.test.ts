/** A small disk that is filled up. The tests are skipped where it may not be mounted. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { ringbackProcess } from '../cli/command.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import type { Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const megabyte = 1_048_576;

/** A small file system in memory; undefined if this process may not mount one, which usually only root may. */
function smallDisk(size = 60 * megabyte): string | undefined {
  const path = temporaryFolder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
  if (status !== 0) return undefined;
  // Lazily: the process keeps the database's file open for good, so that it keeps its locks.
  onTestFinished(() => void execFileSync('umount', ['--lazy', path]));
  return path;
}

const payload = { transcript: 'x'.repeat(40_000) };

/** Takes all the room that is left, to the last byte. */
function fillUp(file: string): void {
  for (const bytes of [megabyte, 4_096, 1]) while (appends(file, bytes));
}

function appends(file: string, bytes: number): boolean {
  try {
    appendFileSync(file, Buffer.alloc(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Delivers one more event; false when it is refused. */
async function deliverOne(receiver: Receiver, acknowledged: string[]): Promise<boolean> {
  // A delivery that is refused at once lets no timer run, not even the test's own.
  await turn();
  const traceId = `trace-${acknowledged.length}`;
  const { status } = await deliver(receiver, bodyOf({ traceId, payload }));
  if (status === 200) acknowledged.push(traceId);
  return status === 200;
}

/** Delivers events until one is refused. */
async function fill(receiver: Receiver, acknowledged: string[]): Promise<void> {
  while (await deliverOne(receiver, acknowledged));
}

/** Delivers events until one is accepted. */
async function deliverAgain(receiver: Receiver, acknowledged: string[]): Promise<void> {
  while (!(await deliverOne(receiver, acknowledged)));
}

test('what room there is goes to the database first, so that the log gives its own back', async ({
  skip,
}) => {
  const path = smallDisk(16 * megabyte) ?? skip();
  const filler = join(path, 'filler');
  appendFileSync(filler, Buffer.alloc(8 * megabyte));
  const { receiver } = await started({ database: join(path, 'ringback.db') }, (r) => r.on('*', () => {}));
  const acknowledged: string[] = [];
  await fill(receiver, acknowledged);
  const log = join(path, 'ringback.db-wal');
  const largest = statSync(log).size;
  expect(largest).toBeGreaterThan(2 * megabyte);
  // Frees room bit by bit, and never enough for the database to take the whole log.
  for (let freed = 1; freed <= 5; freed += 1) {
    truncateSync(filler, statSync(filler).size - megabyte / 4);
    await fill(receiver, acknowledged);
  }
  truncateSync(filler, 0);
  await deliverAgain(receiver, acknowledged);
  expect(statSync(log).size).toBeLessThan(megabyte);
  await expect.poll(async () => (await receiver.counts()).events.done).toBe(acknowledged.length);
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: acknowledged.length });
});

test(
  'while somebody reads the log, it is not added to either: it would take the room that the database needs',
  { tags: 'long' },
  async ({ skip }) => {
    const path = smallDisk() ?? skip();
    const filler = join(path, 'filler');
    const database = join(path, 'ringback.db');
    appendFileSync(filler, Buffer.alloc(35 * megabyte));
    const { receiver } = await started({ database }, (r) => r.on('*', () => {}));
    const acknowledged: string[] = [];
    await fill(receiver, acknowledged);
    const largest = statSync(`${database}-wal`).size;
    const reader = new Database(database, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec('begin; select count(*) from events');
    truncateSync(filler, 0);
    expect(await deliverOne(receiver, acknowledged)).toBe(false);
    expect(statSync(`${database}-wal`).size).toBe(largest);
    reader.exec('commit');
    await deliverAgain(receiver, acknowledged);
    expect(statSync(`${database}-wal`).size).toBeLessThan(megabyte);
  },
);

test.for([
  ['without any room', 0],
  ['with room to open it only', 36 * 1_024],
] as const)(
  'a start or a command on a full disk, %s, ends with a sentence and 1',
  { tags: 'long' },
  async ([, room], { skip }) => {
    const path = smallDisk() ?? skip();
    const database = join(path, 'ringback.db');
    const { receiver } = await started({ database });
    await deliver(receiver);
    await receiver.stop();
    const filler = join(path, 'filler');
    fillUp(filler);
    truncateSync(filler, statSync(filler).size - room);
    const next = made({ database });
    await expect(next.receiver.start()).rejects.toMatchObject({ code: 'database_full' });
    const env = { RINGBACK_SECRETS: secret, RINGBACK_PORT: '0' };
    for (const command of [['serve'], ['inbox', 'events']]) {
      const { code, stderr } = await ringbackProcess([...command, '--database', database], { env });
      expect(stderr).toMatch(
        /^ringback: The disk of the database .* should have space .* but it is full\. Free some space/,
      );
      expect(code).toBe(1);
    }
    rmSync(filler);
    const last = await started({ database });
    expect((await last.receiver.counts()).events.new + (await last.receiver.counts()).events.done).toBe(1);
  },
);

test(
  'while the disk is full, a receiver is not ready, and is ready again without a delivery',
  { tags: 'long' },
  async ({ skip }) => {
    const path = smallDisk() ?? skip();
    const filler = join(path, 'filler');
    const { receiver } = await started({ database: join(path, 'ringback.db') });
    await deliver(receiver);
    fillUp(filler);
    await fill(receiver, []);
    expect(receiver.isReady).toBe(false);
    rmSync(filler);
    await expect.poll(() => receiver.isReady).toBe(true);
    expect((await deliver(receiver)).status).toBe(200);
  },
);
