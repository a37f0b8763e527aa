import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { standStill } from '../../kit/clock.ts';

/** How long to wait between two attempts to take the lock, in milliseconds. */
const pause = 5;
/**
 * A living process holds the lock for milliseconds only. A lock that is the same after so many looks was left by a
 * process that was killed, and is removed.
 */
const mostLooks = 400;

/**
 * Does the work while no other process works under the same lock. It blocks this thread meanwhile. The lock is a file,
 * which is removed afterwards.
 *
 * @throws when the file can't be made, or the work fails
 */
export function underLock(lock: string, work: () => void): void {
  let seen: string | undefined;
  let looks = 0;
  while (!isTaken(lock)) {
    const found = identityOf(lock);
    // Many processes that hold it one after the other are no dead one: removing the lock of a living one could lose a secret.
    looks = found !== undefined && found === seen ? looks + 1 : 1;
    seen = found;
    if (looks >= mostLooks) rmSync(lock, { force: true });
    else standStill(pause);
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Tells this lock from one that another process makes later; undefined if it is gone. */
function identityOf(lock: string): string | undefined {
  const found = statSync(lock, { bigint: true, throwIfNoEntry: false });
  return found && `${found.ino} ${found.mtimeNs}`;
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
