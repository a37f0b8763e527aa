/**
 * For how long the next slot of a handler's rate may lie ahead at most, in milliseconds: more than many processes at work can
 * have reserved. When the wall clock is set back, the next slot would lie as far ahead as the clock was set.
 */
export function longestDelay(gap: number): number {
  return 60 * Math.max(gap, 1_000);
}
