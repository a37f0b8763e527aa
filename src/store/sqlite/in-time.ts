import type { Clock } from '../../kit/clock.ts';
import { recordPatience } from './commit-group.ts';

/**
 * Lets a delivery wait for a write of the main thread's only as long as its sender waits: the write's own patience ends
 * when it has the lock, and a slow disk may take seconds to sync it. It may be written all the same.
 */
export function inTime<T>(write: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('the disk did not take it in time'));
    // If the app's event loop has stood still, the result may be here already, and the disk was not slow.
    const cancel = clock.after(recordPatience, () => setImmediate(giveUp));
    write.then(resolve, reject).finally(cancel);
  });
}
