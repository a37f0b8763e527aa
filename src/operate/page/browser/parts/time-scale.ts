/** Where times are on a drawing. */

/** A scale from times to places between 0 and 1. */
export interface TimeScale {
  /** The place of one of the times. */
  readonly placeOf: (time: number) => number;
  /** Places where much time without anything is left out. */
  readonly breaks: readonly number[];
  /** Times to be written at the axis. */
  readonly ticks: readonly number[];
}

/** How much longer than all the rest together a gap must be for most of it to be left out. */
const longGap = 12;
/** What is left of such a gap, as a part of the rest. */
const shortened = 0.25;

/**
 * A scale on which the given times can be told apart: a replay two days after a call of two minutes must not make the call a
 * dot. So a gap that is longer than all the rest is shortened, and that is shown as a break.
 */
export function timeScale(times: readonly number[]): TimeScale {
  const sorted = [...new Set(times)].sort((one, other) => one - other);
  const gaps = sorted.slice(1).map((time, place) => time - (sorted[place] ?? 0));
  const lengths = [...gaps];
  const broken = new Set<number>();
  // The longest first: what is the rest for the one is long for the other.
  for (const place of gaps.map((_, at) => at).sort((one, other) => (gaps[other] ?? 0) - (gaps[one] ?? 0))) {
    const unbroken = gaps.filter((_, at) => at !== place && !broken.has(at));
    const rest = sum(unbroken);
    if (rest === 0 || (gaps[place] ?? 0) < longGap * rest || unbroken.length < 2) break;
    broken.add(place);
  }
  const rest = sum(gaps.filter((_, place) => !broken.has(place)));
  for (const place of broken) lengths[place] = rest * shortened;
  const total = sum(lengths) || 1;
  const places = [0];
  for (const length of lengths) places.push((places.at(-1) ?? 0) + length / total);
  // A call may have thousands of times, and each is asked for more than once.
  const known = new Map(sorted.map((time, at) => [time, places[at] ?? 0]));

  const placeOf = (time: number) => known.get(time) ?? 0;
  const breaks = [...broken].map((place) => ((places[place] ?? 0) + (places[place + 1] ?? 0)) / 2);
  return { placeOf, breaks, ticks: ticksOf(sorted, placeOf) };
}

/** The times themselves are the best ticks; those too near to the one before are left out. */
function ticksOf(sorted: readonly number[], placeOf: (time: number) => number): readonly number[] {
  const ticks: number[] = [];
  for (const time of sorted) {
    const before = ticks.at(-1);
    if (before === undefined || placeOf(time) - placeOf(before) > 0.13) ticks.push(time);
  }
  return ticks;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
