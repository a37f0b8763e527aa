/** The part of the store that keeps counts by minute and by hour: names and numbers only. */
import { type Counts, groupPrefix, maxGroups } from '../kit/activity.ts';

export type Resolution = 'minute' | 'hour';

/** How long each period is, and how long its counts are kept, in milliseconds. */
export const resolutions: Readonly<Record<Resolution, { readonly length: number; readonly kept: number }>> = {
  minute: { length: 60_000, kept: 48 * 3_600_000 },
  hour: { length: 3_600_000, kept: 90 * 86_400_000 },
};

/** When the minute or the hour of a time begins. */
export function startOf(resolution: Resolution, at: number): number {
  const { length } = resolutions[resolution];
  return Math.floor(at / length) * length;
}

/**
 * Counts of what waits. Every process sees the same in the inbox, so the largest is kept; so it is of several minutes.
 */
export const gauges: ReadonlySet<string> = new Set(['waiting', 'oldest_waiting']);

/**
 * The counts of a minute as they count for its hour. `held`, what each process has claimed and not begun, is added up
 * within a minute only: an hour keeps the most that waited in one minute, in the inbox and in all processes. Of groups
 * of failures, an hour counts only the first: each minute may have others, and hours are kept long and read often.
 *
 * @param waitedThen `waiting` and `held` of the minute, of all processes that have written them
 * @param groupsThen the names of the groups that the hour already counts
 */
export function countsOfHour(
  counts: Counts,
  waitedThen: number,
  groupsThen: readonly string[],
): Map<string, number> {
  const hour = new Map(counts);
  if (hour.delete('held')) hour.set('waiting', waitedThen);
  const groups = new Set(groupsThen);
  for (const name of counts.keys()) {
    if (!name.startsWith(groupPrefix) || groups.has(name)) continue;
    if (groups.size < maxGroups) groups.add(name);
    else hour.delete(name);
  }
  return hour;
}

/** In the place of a handler's name, where counts are those of the receiver as a whole. No handler has an empty name. */
export const wholeReceiver = '';

/** A count in a minute or an hour. */
export interface HistoryRow {
  /** When the minute or the hour begins, in milliseconds since 1970. */
  readonly at: number;
  readonly name: string;
  readonly count: number;
}

/** What waits in the inbox; a process adds what it has claimed itself. */
export interface Backlog {
  /** Unclaimed events and due runs. Events, and the runs of each handler, are counted up to 100,000. */
  readonly waiting: number;
  /**
   * Since when the oldest of these has waited: since its arrival, the end of the replay that requeued it, or the time
   * it was due. A claim that was given back in between doesn't reset it. Runs requeued by a replay that is still
   * running have not waited. An event released from quarantine arrived with its delivery.
   */
  readonly oldest: number | undefined;
}

export interface HistoryStore {
  /**
   * Adds counts to the minute and the hour of `at`; with `mayRemove`, also removes those kept long enough. Of `waiting` and
   * `oldest_waiting`, the largest is kept. `held` is added up in the minute; the hour has none, but as its `waiting` the
   * most of `waiting` and `held` together in one of its minutes, and of groups of failures only about the first 50 (see
   * `countsOfHour`). `handlers`: the counts of each handler alone, which are added up.
   */
  add(at: number, counts: Counts, mayRemove: boolean, handlers?: ReadonlyMap<string, Counts>): Promise<void>;
  /**
   * The counts of the receiver, or those of one handler alone, ordered by time. `until` is exclusive. `kinds`: only
   * counts with one of these names; of a name with a colon, with what comes before the rest: `refused:`.
   */
  list(
    resolution: Resolution,
    since: number,
    until: number,
    handler?: string,
    kinds?: readonly string[],
  ): Promise<readonly HistoryRow[]>;
  backlog(now: number): Promise<Backlog>;
}
