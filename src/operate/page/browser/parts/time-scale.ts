/** Maps times to positions between 0 and 1. */
export interface TimeScale {
  /** The position of one of the given times. */
  readonly placeOf: (time: number) => number;
  /** The positions of the shortened gaps. */
  readonly breaks: readonly number[];
  /** The times to write at the axis. */
  readonly ticks: readonly number[];
}

/** How many times as long as all other gaps together a gap must be to be shortened. */
const longGap = 12;
/** The length of a shortened gap, as a part of the other gaps. */
const shortened = 0.25;

/**
 * A scale on which the given times can be told apart: a replay two days after a call of two minutes must not reduce the
 * call to a dot. So a gap of at least `longGap` times all others is shortened and marked as a break. `apart` is the
 * least distance between two ticks.
 */
export function timeScale(times: readonly number[], apart: number): TimeScale {
  const sorted = [...new Set(times)].sort((one, other) => one - other);
  const gaps = sorted.slice(1).map((time, place) => time - (sorted[place] ?? 0));
  const lengths = [...gaps];
  const broken = new Set<number>();
  // The longest first: only once it is left out of the rest can the next one be long.
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
  // A map, because a call may have thousands of times, each looked up more than once.
  const known = new Map(sorted.map((time, at) => [time, places[at] ?? 0]));

  const placeOf = (time: number) => known.get(time) ?? 0;
  const breaks = [...broken].map((place) => ((places[place] ?? 0) + (places[place + 1] ?? 0)) / 2);
  return { placeOf, breaks, ticks: ticksOf(sorted, placeOf, apart) };
}

/** The ticks are the times themselves, without those too close to the tick before. */
function ticksOf(
  sorted: readonly number[],
  placeOf: (time: number) => number,
  apart: number,
): readonly number[] {
  const ticks: number[] = [];
  for (const time of sorted) {
    const before = ticks.at(-1);
    if (before === undefined || placeOf(time) - placeOf(before) > apart) ticks.push(time);
  }
  return ticks;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
