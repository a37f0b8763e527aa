/** Bounds that are the same in every store. First, how much of the disk may be taken by what anyone can send, or name. */
import { maxReservedAhead } from '../timeouts.ts';

/**
 * How many differences from the documents are kept, in all and of one event: their names are the sender's to choose, and
 * without bounds they could fill the disk.
 */
export const driftBounds = { rows: 1_000, rowsOfEvent: 200 };

/** How much of the disk deliveries that are not authentic may take: beyond that, the oldest are dropped. */
export const quarantineBounds = { unauthenticated: 1_000, unauthenticatedBytes: 50 * 1024 * 1024 };

/** How many runs of a state are counted for a person, who asks again and again: beyond that, nobody needs the number. */
export const maxCounted = 100_000;
/** The same of a group of failures: there are many groups. */
export const maxCountedOfGroup = 10_000;
/** Of how many runs of a handler that are due at once it is looked up whether a replay has put them back: no index says so. */
export const maxLookedUp = 1_000;

/**
 * For how long the next slot of a handler's rate may lie ahead at most, in milliseconds: no process reserves more, see
 * `reserveStarts`. When the wall clock is set back, the next slot would lie as far ahead as the clock was set.
 */
export function maxDelay(gap: number): number {
  return maxReservedAhead + Math.max(gap, 1_000);
}
