/**
 * Holds the lock of a secrets file until another process is about to write that file, and for some time more; then says
 * whether the file was written meanwhile, and is killed without releasing the lock.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { block, systemClock } from '../../src/kit/clock.ts';
import { FileLock } from '../../src/platform/secrets/file-lock.ts';

const file = process.argv[2] ?? '';
const lock = `${file}.lock`;
const isExpected = () =>
  readdirSync(dirname(file)).some((name) => name.startsWith(`${basename(file)}.`) && name !== basename(lock));

await new FileLock(lock, systemClock).hold(() => {
  process.stdout.write('{"held":true}\n');
  while (!isExpected()) block(5);
  block(200);
  process.stdout.write(`${JSON.stringify({ wasWritten: existsSync(file) })}\n`);
  process.kill(process.pid, 'SIGKILL');
  // The signal may come a moment later, and the lock must be held until then.
  for (;;) block(1_000);
});
