import { type Clock, inTime } from '../kit/clock.ts';

/** How long to wait before trying a store again that has failed, in milliseconds. */
export const storePause = 1_000;

/** How often a process reports that it is alive and looks for dead processes, in milliseconds. */
export const heartbeatInterval = 2_000;

/** How long a delivery waits for its write, in milliseconds: its sender waits one second in all. */
export const recordTimeout = 700;

/** Resolves as the store does, or rejects when the sender must be answered. It doesn't cancel what the store does. */
export function recordedInTime<T>(clock: Clock, recorded: Promise<T>): Promise<T> {
  const late = () => new Error(`the database has not answered within ${recordTimeout} ms`);
  return inTime(clock, recordTimeout, recorded, late);
}

/** How far ahead a process may reserve starts of a handler with a rate, in milliseconds: they are lost when it ends. */
export const maxReservedAhead = 10_000;
