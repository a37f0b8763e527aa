/** Durations in buckets, so that those of many processes and minutes add up. */

/** The upper ends of the buckets, in milliseconds: from 2 ms to 5 s, each is about half as long again as the one before. */
export const bucketEnds = [
  1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000, 3_000, 5_000, 10_000, 30_000,
  60_000, 300_000, 3_600_000,
] as const;

/** The end of the bucket that a duration is in; of one beyond them all, the last. */
export function bucketOf(milliseconds: number): number {
  return bucketEnds.find((end) => milliseconds <= end) ?? bucketEnds[bucketEnds.length - 1] ?? 0;
}

/**
 * The end of the bucket below which a part of all durations lies: the true value is at most that. Undefined if there are
 * none.
 *
 * @param counts how many durations are in each bucket, by its end
 */
export function quantile(counts: ReadonlyMap<number, number>, part: number): number | undefined {
  const ends = [...counts.keys()].toSorted((one, other) => one - other);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  let below = 0;
  return ends.find((end) => (below += counts.get(end) ?? 0) >= all * part && below > 0);
}
