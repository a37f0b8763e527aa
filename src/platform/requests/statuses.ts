/** What statuses say about whether a request was carried out. */

/** Statuses after which a read is tried again, because the failure may pass. */
export const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
/** Those of them that say that nothing was done. */
export const undone: ReadonlySet<number> = new Set([429, 503]);

/** Other statuses of the server's that say so: it doesn't know the method, or the version of HTTP. */
const unknown: ReadonlySet<number> = new Set([501, 505]);
/** Redirects that are the usual answer to a write that was carried out: look there for what came of it. */
const elsewhere: ReadonlySet<number> = new Set([302, 303]);

/** Whether an error with this status leaves open whether a write was carried out. */
export function leavesOpen(status: number): boolean {
  if (status < 500) return status === 408 || elsewhere.has(status);
  return !undone.has(status) && !unknown.has(status);
}
