/** Compares servers that receive the same signed deliveries, and says which targets are reached. */
import type { BodyName } from '../load/bodies.ts';
import { type Measured, measure } from '../measure.ts';
import { measuredOn, progress, publish, table } from '../report.ts';
import { type Results, type ServerKey, figure, longestStall, problemsOf } from './results.ts';
import { everyServer, servers } from './servers.ts';
import { compareTargets } from './targets.ts';

/** Some servers under one load. */
interface Comparison {
  readonly title: string;
  readonly among: readonly ServerKey[];
  readonly connections: number;
  readonly body: BodyName;
  readonly seconds: number;
  readonly warmUpSeconds?: number;
  readonly pace?: number;
  readonly watches?: boolean;
}

/** Runs the whole comparison. The quick one is for a check before each commit, and writes no file. */
export async function compare({ isQuick }: { isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const rounds = isQuick ? 1 : 3;
  const seconds = isQuick ? 1.2 : 8;
  const tables: string[] = [];
  const run = async (comparison: Comparison): Promise<Results> => {
    const results = await runRounds(comparison, rounds);
    tables.push(`## ${comparison.title}`, '', ...resultTable(results));
    return results;
  };
  const small = {
    among: everyServer,
    body: '0.4 KB',
    seconds,
    ...(isQuick && { warmUpSeconds: 1 }),
  } as const;

  const at32 = await run({ ...small, title: '32 connections, 0.4 KB', connections: 32 });
  const at128 = await run({
    ...small,
    title: '128 connections, 0.4 KB',
    connections: 128,
    among: isQuick ? ['e', 'f'] : everyServer,
  });
  const at8KB = isQuick
    ? undefined
    : await run({ ...small, title: '32 connections, 8 KB', connections: 32, body: '8 KB' });
  const wideAt8KB = isQuick
    ? undefined
    : await run({
        ...small,
        title: '128 connections, 8 KB',
        connections: 128,
        body: '8 KB',
        among: ['b', 'e', 'f'],
      });
  const at1 = await run({
    ...small,
    title: 'One connection, 0.4 KB',
    connections: 1,
    among: ['d', 'e'],
    seconds: seconds / 2,
  });
  const pace = Math.round(Math.max(figure(at32, 'e', 'rate'), figure(at128, 'e', 'rate')) / 2);
  const title = `Half of the highest rate of (e): ${pace} deliveries/s at an even pace`;
  const half = { ...small, connections: 128, among: ['e'], pace } as const;
  const atHalf = await run({ ...half, title });
  // In separate runs: matching answers with handlers creates garbage, and its collection delays both.
  const watched = await run({ ...half, title: `${title}, watched`, watches: true });

  const targets = compareTargets({ at32, at128, at8KB, wideAt8KB, at1, atHalf, watched });
  const medians = `${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s.`;
  const note = 'Rates hold on this machine and day only: compare the ratios.';
  const head = ['# Results', '', `${machine} ${medians} ${note}`, ''];
  publish([...head, '## Targets', '', ...targets, ...tables], isQuick ? undefined : 'results.md');
}

/** Runs all servers one after the other in each round, so that a disturbance of the machine affects them alike. */
async function runRounds({ title, among, ...setting }: Comparison, rounds: number): Promise<Results> {
  const runs = new Map<ServerKey, Measured[]>(among.map((key) => [key, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const key of among) {
      const measured = await measure({ ...setting, ...servers[key] });
      progress(`${title}, round ${round}, ${servers[key].name}: ${Math.round(measured.rate)}/s`);
      runs.get(key)?.push(measured);
    }
  }
  return runs;
}

function resultTable(results: Results): string[] {
  const base = figure(results, 'b', 'rate');
  const rows = [...results.keys()].map((key) => {
    const rate = figure(results, key, 'rate');
    return [
      servers[key].name,
      String(Math.round(rate)),
      told(rate / base, 2),
      told(figure(results, key, 'p50'), 2),
      told(figure(results, key, 'p99'), 2),
      told(longestStall(results, key), 1),
      told(figure(results, key, 'cpu'), 2),
      problemsOf(results, key) ?? 'yes',
    ];
  });
  const head = [
    'server',
    'deliveries/s',
    '÷ (b)',
    'p50 ms',
    'p99 ms',
    'longest stall ms',
    "load's CPU",
    'valid',
  ];
  return table(head, rows);
}

/** The figure as text, empty if there is none. */
function told(value: number, digits: number): string {
  return Number.isNaN(value) ? '' : value.toFixed(digits);
}
