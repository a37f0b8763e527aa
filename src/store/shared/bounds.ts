/** Bounds that every store shares. */
import { maxReservedAhead } from '../timeouts.ts';

/**
 * How many differences from the documents are kept, in all and for one event name. A sender chooses their names, and
 * could otherwise fill the disk with them.
 */
export const driftBounds = { rows: 1_000, rowsOfEvent: 200 };

/** How much of the disk unauthenticated deliveries may take. Beyond that, the oldest are dropped. */
export const quarantineBounds = { unauthenticated: 1_000, unauthenticatedBytes: 50 * 1024 * 1024 };

/** Up to how many runs of a state are counted: the page asks again and again, and nobody needs a larger exact number. */
export const maxCounted = 100_000;
/** The same for a group of failures, of which there are many. */
export const maxCountedOfGroup = 10_000;
/** For how many immediately due runs of a handler the replay that requeued them is looked up: no index has it. */
export const maxLookedUp = 1_000;

/**
 * How far ahead the next slot of a handler's rate may lie, in milliseconds: no process reserves further. Without this
 * bound, a wall clock that is set back by an hour would stop the handler for an hour.
 */
export function maxDelay(gap: number): number {
  return maxReservedAhead + Math.max(gap, 1_000);
}
