/** A disk of its own that is filled up, where such a one may be mounted. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const megabyte = 1_048_576;
const size = 60 * megabyte;

/** A file system in memory; undefined where nobody but root may mount one, and we are not. */
function smallDisk(): string | undefined {
  const path = temporaryFolder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
  if (status !== 0) return undefined;
  onTestFinished(() => void execFileSync('umount', [path]));
  return path;
}

const payload = { transcript: 'x'.repeat(40_000) };

/** Delivers until one is refused. */
async function fill(receiver: Receiver, acknowledged: string[]): Promise<void> {
  for (;;) {
    const traceId = `trace-${acknowledged.length}`;
    const { status } = await deliver(receiver, bodyOf({ traceId, payload }));
    if (status !== 200) return;
    acknowledged.push(traceId);
  }
}

test('what room there is goes to the database first, so that the log gives its own back', async ({
  skip,
}) => {
  const path = smallDisk() ?? skip();
  const filler = join(path, 'filler');
  appendFileSync(filler, Buffer.alloc(35 * megabyte));
  const { receiver } = await started({ database: join(path, 'ringback.db') }, (r) => r.on('*', () => {}));
  const acknowledged: string[] = [];
  await fill(receiver, acknowledged);
  const log = join(path, 'ringback.db-wal');
  const largest = statSync(log).size;
  expect(largest).toBeGreaterThan(10 * megabyte);
  // Bit by bit, and never enough for the database to take the log.
  for (let freed = 1; freed <= 5; freed += 1) {
    truncateSync(filler, statSync(filler).size - megabyte);
    await fill(receiver, acknowledged);
  }
  truncateSync(filler, 0);
  const before = acknowledged.length;
  // The log is given back beside the deliveries, by a thread of its own.
  while (acknowledged.length === before || statSync(log).size >= largest / 2) {
    const traceId = `trace-${acknowledged.length}`;
    const { status } = await deliver(receiver, bodyOf({ traceId, payload }));
    if (status === 200) acknowledged.push(traceId);
  }
  while ((await receiver.counts()).events.done < acknowledged.length) await turn();
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: acknowledged.length });
});
