import type { Sequence } from '../../event-record.ts';

/** Ranges of sequences: all events that the process owns from the first to the last. */
export type Ranges = readonly (readonly [first: Sequence, last: Sequence])[];

/** How many sequences a range has at most: see the table `ended`. */
export const maxRangeLength = 256;

/** Joins consecutive sequences, which ascend, to ranges. */
export function rangesOf(sequences: readonly Sequence[]): Ranges {
  const ranges: [Sequence, Sequence][] = [];
  for (const sequence of sequences) {
    const range = ranges.at(-1);
    if (range?.[1] === sequence - 1 && sequence - range[0] < maxRangeLength) range[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges;
}

/** Ranges as two arguments of a statement. */
export function firstsAndLasts(ranges: Ranges): readonly (readonly Sequence[])[] {
  return [ranges.map(([first]) => first), ranges.map(([, last]) => last)];
}
