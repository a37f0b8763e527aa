/** Maps times to positions between 0 and 1. */
export interface TimeScale {
  /** The position of one of the given times. */
  readonly positionOf: (time: number) => number;
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
  const gaps = sorted.slice(1).map((time, index) => time - (sorted[index] ?? 0));
  const lengths = [...gaps];
  const broken = new Set<number>();
  // The longest first: only once it is left out of the rest can the next one be long.
  for (const index of gaps.map((_, at) => at).sort((one, other) => (gaps[other] ?? 0) - (gaps[one] ?? 0))) {
    const unbroken = gaps.filter((_, at) => at !== index && !broken.has(at));
    const rest = sum(unbroken);
    if (rest === 0 || (gaps[index] ?? 0) < longGap * rest || unbroken.length < 2) break;
    broken.add(index);
  }
  const rest = sum(gaps.filter((_, index) => !broken.has(index)));
  for (const index of broken) lengths[index] = rest * shortened;
  const total = sum(lengths) || 1;
  const positions = [0];
  for (const length of lengths) positions.push((positions.at(-1) ?? 0) + length / total);
  // A map, because a call may have thousands of times, each looked up more than once.
  const known = new Map(sorted.map((time, at) => [time, positions[at] ?? 0]));

  const positionOf = (time: number) => known.get(time) ?? 0;
  const breaks = [...broken].map((index) => ((positions[index] ?? 0) + (positions[index + 1] ?? 0)) / 2);
  return { positionOf, breaks, ticks: ticksOf(sorted, positionOf, apart) };
}

/** The ticks are the times themselves, without those too close to the tick before. */
function ticksOf(
  sorted: readonly number[],
  positionOf: (time: number) => number,
  apart: number,
): readonly number[] {
  const ticks: number[] = [];
  for (const time of sorted) {
    const before = ticks.at(-1);
    if (before === undefined || positionOf(time) - positionOf(before) > apart) ticks.push(time);
  }
  return ticks;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
