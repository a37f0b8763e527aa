/** How long no delivery has arrived, and what is usual. */
import type { HistoryRow } from '../../store/history-store.ts';
import type { Facts } from './facts.ts';

const minute = 60_000;
const hour = 3_600_000;
/** What is usual is known after a week, the longest rhythm of a business except for holidays. */
const known = 7 * 24 * hour;

/** The counts that show that the platform reaches this receiver. */
export const arrivals: readonly string[] = ['accepted', 'duplicate'];

/**
 * How long no delivery has been accepted, in milliseconds; undefined if none is known. In whole clock hours to compare
 * it with what is usual, which is known in these; else to the minute, until the history's minutes are no longer kept.
 */
export function sinceLastDelivery(
  { hours, lastDeliveries, now }: Pick<Facts, 'hours' | 'lastDeliveries' | 'now'>,
  unit: 'hour' | 'minute',
): number | undefined {
  const lastHour = timesOf(hours).at(-1);
  if (lastHour === undefined) return undefined;
  const lastMinute = unit === 'minute' ? timesOf(lastDeliveries).at(-1) : undefined;
  return Math.max(0, now - (lastMinute === undefined ? lastHour + hour : lastMinute + minute));
}

/**
 * The longest time between two deliveries in the history, in whole hours; the current pause doesn't count. Undefined if
 * the history covers less than a week, or if all deliveries came within one hour.
 */
export function longestPause(hours: readonly HistoryRow[], now: number): number | undefined {
  const times = timesOf(hours);
  const first = times[0];
  if (first === undefined || times.length < 2 || now - first < known) return undefined;
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at) - hour);
  return Math.max(0, ...pauses);
}

/** The starts of the minutes or hours in which a delivery was accepted, in order. */
function timesOf(rows: readonly HistoryRow[]): readonly number[] {
  return [...new Set(rows.filter(({ name }) => arrivals.includes(name)).map(({ at }) => at))].toSorted(
    (one, other) => one - other,
  );
}
