import { median } from '../report.ts';
import { type Target, targetTable } from '../targets.ts';
import { type Results, type ServerKey, figure, maxStall, problemsOf, ratio } from './results.ts';

/** The results that the targets are computed from. */
export interface Comparisons {
  readonly at32: Results;
  readonly at128: Results;
  /** At 32 and at 128 connections; empty in a quick comparison. */
  readonly at8KB: readonly Results[];
  readonly at1: Results;
  readonly atHalf: Results;
  /** Like `atHalf`, and also measures when handlers begin. */
  readonly watched: Results;
}

/** The targets that a comparison measures, as a table. The other targets need a large inbox. */
export function compareTargets(comparisons: Comparisons): string[] {
  const { at32, at128, at8KB, at1, atHalf, watched } = comparisons;
  const everything = [at32, at128, ...at8KB, at1, atHalf, watched];
  const of = (results: Results, server: ServerKey) => ({ results, server });
  const rates = (over: ServerKey, under: ServerKey) => ({
    reached: ratio(of(at32, over), of(at32, under), 'rate'),
    problem: problemsOf(at32, over, under),
  });
  const wider = (key: ServerKey) => ({
    reached: ratio(of(at128, key), of(at32, key), 'rate'),
    problem: problemsOf(at32, key) ?? problemsOf(at128, key),
  });
  const highest = figure(at128, 'e', 'rate') > figure(at32, 'e', 'rate') ? at128 : at32;
  const lagOf = (part: 'p50' | 'p99') =>
    median((watched.get('e') ?? []).map(({ lag }) => lag?.[part] ?? Number.NaN));
  const targets: Target[] = [
    { name: '(e) ÷ (d), what a user would write', bound: 'at least', value: 3, ...rates('e', 'd') },
    { name: '128 connections ÷ 32, (e)', bound: 'at least', value: 0.95, ...wider('e') },
    { name: '128 connections ÷ 32, (f)', bound: 'at least', value: 0.95, ...wider('f') },
    {
      name: 'one connection: p50 of (e) ÷ p50 of (d)',
      bound: 'at most',
      value: 1.3,
      hoped: 1,
      reached: ratio(of(at1, 'e'), of(at1, 'd'), 'p50'),
      problem: problemsOf(at1, 'd', 'e'),
    },
    {
      name: 'p99 of the answer at half of the highest rate',
      bound: 'at most',
      value: 15,
      unit: 'ms',
      reached: figure(atHalf, 'e', 'p99'),
      problem: problemsOf(atHalf, 'e'),
    },
    {
      name: 'p99 of the answer at the highest rate',
      bound: 'at most',
      value: 50,
      unit: 'ms',
      reached: figure(highest, 'e', 'p99'),
      problem: problemsOf(highest, 'e'),
    },
    {
      name: "longest stall of the app's event loop, all runs of (e)",
      bound: 'at most',
      value: 20,
      unit: 'ms',
      reached: Math.max(...everything.map((results) => maxStall(results, 'e'))),
      problem: everything.flatMap((results) => problemsOf(results, 'e') ?? [])[0],
    },
    {
      name: "from answer to the handler's start at half of the highest rate, p50",
      bound: 'at most',
      value: 5,
      unit: 'ms',
      reached: lagOf('p50'),
      problem: problemsOf(watched, 'e'),
    },
    {
      name: "from answer to the handler's start at half of the highest rate, p99",
      bound: 'at most',
      value: 50,
      unit: 'ms',
      reached: lagOf('p99'),
      problem: problemsOf(watched, 'e'),
    },
    {
      name: 'bytes on disk per 0.4 KB event, indexes included',
      bound: 'at most',
      value: 1.1,
      unit: 'KB',
      hoped: 0.8,
      reached: figure(at32, 'e', 'bytesPerEvent') / 1_000,
      problem: problemsOf(at32, 'e'),
    },
  ];
  return targetTable(targets);
}
