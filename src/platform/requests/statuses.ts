/** What statuses say about whether a request was carried out. */

/** Statuses after which a read is tried again, because the failure may pass. */
export const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
/** Those of them that say that nothing was done. */
export const undone: ReadonlySet<number> = new Set([429, 503]);

/** Whether an error with this status leaves open whether a write was carried out. */
export function leavesOpen(status: number): boolean {
  return passing.has(status) && !undone.has(status);
}
