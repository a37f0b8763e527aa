import { closeSync, openSync, rmSync } from 'node:fs';
import { standStill } from '../../kit/clock.ts';

/** How long is waited between two looks at a lock, in milliseconds. */
const pause = 5;
/** Whoever lives holds the lock for milliseconds only. One that is there after so many looks was left by a process that was killed. */
const mostLooks = 400;

/**
 * Does the work while no other process does its own under the same lock. Nothing else of this thread runs meanwhile. The
 * lock is a file, which is gone afterwards.
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

/** Whether the lock is ours now. */
function isTaken(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
