import { type Clock, inTime } from '../kit/clock.ts';

/** How long to wait before a store that has failed is tried again, in milliseconds. */
export const storePause = 1_000;

/** How often a process reports that it is alive and looks for dead processes, in milliseconds. */
export const heartbeatInterval = 2_000;

/** How long a delivery waits for its write, in milliseconds: its sender waits for one second in all. */
export const recordTimeout = 700;

/** Resolves as the store does, or rejects when the sender of a delivery must be answered. What the store does goes on. */
export function recordedInTime<T>(clock: Clock, recorded: Promise<T>): Promise<T> {
  const late = () => new Error(`the database has not answered within ${recordTimeout} ms`);
  return inTime(clock, recordTimeout, recorded, late);
}

/** How far ahead the first of the slots that a handler with a rate reserves may lie, in milliseconds: a process that ends takes them along. */
export const maxReservedAhead = 10_000;
