/**
 * Holds the lock of a secrets file until there is a file that says that another process is about to write that file, and
 * for some time more; then says whether the file was written meanwhile, and is killed without releasing the lock.
 */
import { existsSync } from 'node:fs';
import { block, systemClock } from '../../src/kit/clock.ts';
import { FileLock } from '../../src/platform/secrets/file-lock.ts';

const { file, sign } = JSON.parse(process.argv[2] ?? '') as { readonly file: string; readonly sign: string };

await new FileLock(`${file}.lock`, systemClock).hold(() => {
  process.stdout.write('{"held":true}\n');
  while (!existsSync(sign)) block(5);
  block(200);
  process.stdout.write(`${JSON.stringify({ wasWritten: existsSync(file) })}\n`);
  process.kill(process.pid, 'SIGKILL');
  // The signal may come a moment later, and the lock must be held until then.
  for (;;) block(1_000);
});
