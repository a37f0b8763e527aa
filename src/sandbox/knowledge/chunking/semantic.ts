import { gather } from './gather.ts';
import type { SourceText, Span } from './source-text.ts';
import type { Limits } from './token-windows.ts';
import { lines, sentences, unitsUpTo, words } from './units.ts';

export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

/** How many sentences on either side of a gap are compared: one alone says too little about its subject. */
const groupSize = 3;

/** At most this share of the gaps between sentences is split: the deepest ones. */
const share = 0.1;

/**
 * Splits between two sentences where the text before and after is least similar, and where `size` requires it. Only in
 * the latter case does a chunk repeat sentences of the one before: across a change of subject they would mix both.
 */
export async function semantic(source: SourceText, limits: Limits, embed: Embed): Promise<readonly Span[]> {
  const units = unitsUpTo(source, source.whole, limits.size, [sentences, lines, words]);
  const cuts = dips(await similarities(source, units, limits.size, embed)).map((gap) => gap + 1);
  return [...cuts, units.length].flatMap((end, index) =>
    gather(source, units.slice(cuts[index - 1] ?? 0, end), limits),
  );
}

/** The similarity of the groups of sentences before and after each gap, from -1 to 1. */
async function similarities(
  source: SourceText,
  units: readonly Span[],
  size: number,
  embed: Embed,
): Promise<readonly number[]> {
  const tokens = units.map((unit) => source.count(unit));
  const indexes = new Map<string, number>();
  const indexOf = (first: number, last: number): number => {
    const text = source.textOf({ start: units[first]?.start ?? 0, end: units[last]?.end ?? 0 });
    const index = indexes.get(text) ?? indexes.size;
    indexes.set(text, index);
    return index;
  };
  /** The last unit of a group that grows in a direction, up to the size of a chunk: models have limits. */
  const reach = (from: number, step: 1 | -1): number => {
    let last = from;
    let sum = tokens[from] ?? 0;
    for (let next = from + step; Math.abs(next - from) < groupSize; next += step) {
      sum += tokens[next] ?? Infinity;
      if (sum > size) break;
      last = next;
    }
    return last;
  };
  const pairs = units
    .slice(1)
    .map((_unit, gap) => [indexOf(reach(gap, -1), gap), indexOf(gap + 1, reach(gap + 1, 1))] as const);
  if (pairs.length === 0) return [];
  const vectors = await embed([...indexes.keys()]);
  return pairs.map(([before, after]) => dot(vectors[before], vectors[after]));
}

/** The gaps that are among the least similar of all, and no more similar than their neighbours. */
function dips(alike: readonly number[]): readonly number[] {
  const threshold = percentile(alike, share);
  return [...alike.keys()].filter((gap) => {
    const at = (index: number) => alike[index] ?? Infinity;
    return at(gap) < threshold && at(gap) < at(gap - 1) && at(gap) <= at(gap + 1);
  });
}

/** The number below which this share of the numbers lies, interpolated. */
function percentile(numbers: readonly number[], below: number): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  const position = (sorted.length - 1) * below;
  const [low = 0, high = low] = sorted.slice(Math.floor(position));
  return low + (high - low) * (position % 1);
}

function dot(left: Float32Array | undefined, right: Float32Array | undefined): number {
  return left?.reduce((sum, value, index) => sum + value * (right?.[index] ?? 0), 0) ?? 0;
}
