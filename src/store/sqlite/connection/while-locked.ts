import type { Clock } from '../../../kit/clock.ts';
import { isLocked } from './connection.ts';

/** For how long a write is repeated, in milliseconds. */
const lockTimeout = 5_000;

/**
 * Repeats a write while another process has locked the database, but not for ever. Each try lasts as long as the writer
 * waits for the lock.
 */
export async function whileLocked<T>(
  clock: Clock,
  write: () => Promise<T>,
  mayRepeat: () => boolean,
): Promise<T> {
  let isOver = false;
  let cancel: (() => void) | undefined;
  try {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (isOver || !isLocked(error) || !mayRepeat()) throw error;
      }
      cancel ??= clock.after(lockTimeout, () => {
        isOver = true;
      });
    }
  } finally {
    cancel?.();
  }
}
