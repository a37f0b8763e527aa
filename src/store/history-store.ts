/** The part of the store that keeps how much has happened, by minute and by hour: names and numbers only. */

export type Resolution = 'minute' | 'hour';

/** How long each takes, and for how long it is kept, in milliseconds. */
export const resolutions: Readonly<Record<Resolution, { readonly length: number; readonly kept: number }>> = {
  minute: { length: 60_000, kept: 48 * 3_600_000 },
  hour: { length: 3_600_000, kept: 90 * 86_400_000 },
};

/** Counts that don't add up: of those of several processes and minutes, the largest is kept. */
export const gauges: ReadonlySet<string> = new Set(['waiting', 'oldest_waiting']);

/** A count in a minute or an hour. */
export interface HistoryRow {
  /** When the minute or the hour begins, in milliseconds since 1970. */
  readonly at: number;
  readonly name: string;
  readonly count: number;
}

/** What waits in the inbox, and in a process that has claimed it, if that adds its own. */
export interface Backlog {
  /** Events that no process has claimed, and runs that are due: of either kind, and of each handler, 100,000 at most. */
  readonly waiting: number;
  /**
   * Since when the one waits that has waited for longest: its arrival, the end of the replay that has put it back, or when it was
   * due, also if it was claimed meanwhile and given back. What a replay puts back while it goes on has not waited. An event that
   * was released from quarantine arrived with its delivery.
   */
  readonly oldest: number | undefined;
}

export interface HistoryStore {
  /** Adds counts of a time to its minute and its hour, and removes what has been kept long enough, if it may. */
  add(at: number, counts: ReadonlyMap<string, number>, mayRemove: boolean): Promise<void>;
  /** In order of time. `until` is exclusive. */
  list(resolution: Resolution, since: number, until: number): Promise<readonly HistoryRow[]>;
  backlog(now: number): Promise<Backlog>;
}
