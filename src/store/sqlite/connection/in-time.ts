import type { Clock } from '../../../kit/clock.ts';
import { recordTimeout } from '../writer/commit-group.ts';

/**
 * How much longer, in milliseconds: if the app's event loop has was blocked, the disk was not slow, and the result is
 * here within a few turns.
 */
const grace = 50;

/**
 * Lets a delivery wait for a write of the main thread's only as long as its sender waits: the write's own timeout ends
 * when it has the lock, and a slow disk may take seconds to sync it. It may be written all the same.
 */
export function inTime<T>(write: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('the disk did not take it in time'));
    let cancel = clock.after(recordTimeout, () => {
      cancel = clock.after(grace, giveUp);
    });
    write.then(resolve, reject).finally(() => cancel());
  });
}
