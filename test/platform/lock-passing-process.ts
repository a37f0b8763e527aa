/**
 * Holds the lock of a secrets file as many processes do that take it one after the other, for longer than a lock is
 * waited for; then says whether anybody wrote the file meanwhile.
 */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { standStill } from '../../src/kit/clock.ts';

const file = process.argv[2] ?? '';
const lock = `${file}.lock`;
const next = `${file}.next`;

const passOn = () => {
  writeFileSync(next, '');
  renameSync(next, lock);
};

passOn();
process.stdout.write('{"held":true}\n');
for (let holder = 0; holder < 300; holder += 1) {
  passOn();
  standStill(10);
}
const wasWritten = existsSync(file);
rmSync(lock);
process.stdout.write(`${JSON.stringify({ wasWritten })}\n`);
