import { type Clock, inTime } from '../../../kit/clock.ts';
import { recordTimeout } from '../../timeouts.ts';

/** Resolves as a write does that a delivery waits for, or rejects when its sender must be answered. The write goes on. */
export function recordedInTime<T>(clock: Clock, written: Promise<T>): Promise<T> {
  return inTime(
    clock,
    recordTimeout,
    written,
    () => new Error(`the database has not answered within ${recordTimeout} ms`),
  );
}
