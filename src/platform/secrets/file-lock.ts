import { closeSync, openSync, rmSync } from 'node:fs';
import { standStill } from '../../kit/clock.ts';

/** How long to wait between two attempts to take the lock, in milliseconds. */
const pause = 5;
/**
 * A living process holds the lock for milliseconds only. A lock that is still there after so many attempts was left by
 * a process that was killed, and is removed.
 */
const mostLooks = 400;

/**
 * Does the work while no other process works under the same lock. It blocks this thread meanwhile. The lock is a file,
 * which is removed afterwards.
 *
 * @throws when the file can't be made, or the work fails
 */
export function underLock(lock: string, work: () => void): void {
  for (let look = 1; !isTaken(lock); look += 1) {
    if (look % mostLooks === 0) rmSync(lock, { force: true });
    else standStill(pause);
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Tries to take the lock, and tells whether it is ours now. */
function isTaken(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
