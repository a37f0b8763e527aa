import { servers as compared } from '../compare/servers.ts';
import { type Measured, measure } from '../measure.ts';
import { type Start, serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';
import { type CoreTimes, type ThreadTime, watchingCores } from './cores.ts';

const rounds = 3;
const setting = { connections: 32, body: '0.4 KB', seconds: 8 } as const;

const inboxBehindExpress: Start = (database, options = {}) =>
  serverFile('floor.ts')(database, { ...options, arguments: ['--express'] });

const servers = [
  compared.b,
  { name: 'the inbox alone behind Express', start: inboxBehindExpress, stores: true },
  compared.e,
  { name: 'the inbox alone behind node:http', start: serverFile('floor.ts'), stores: true },
  compared.f,
];

/** A server's runs, and what each of them took of the cores. */
interface FloorRuns {
  readonly name: string;
  readonly runs: Measured[];
  readonly cores: CoreTimes[];
}

/**
 * Measures how fast the inbox is by itself: everything else that a receiver does takes additional time. The servers are
 * measured in alternation, without a profiler.
 */
export async function floor(): Promise<string[]> {
  const measured = servers.map(({ name }): FloorRuns => ({ name, runs: [], cores: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { name, start, stores }] of servers.entries()) {
      const watched = watchingCores(start, (times) => measured[index]?.cores.push(times));
      const run = await measure({ ...setting, start: watched, stores });
      measured[index]?.runs.push(run);
      progress(`The floor, round ${round}, ${name}: ${Math.round(run.rate)}/s`);
    }
  }
  const rates = measured.map(({ runs }) => median(runs.map(({ rate }) => rate)));
  const [ofB = Number.NaN] = rates;
  const rows = measured.map(({ name, runs }, index) => {
    const rate = rates[index] ?? Number.NaN;
    const problem = runs.find((run) => run.problem !== undefined)?.problem;
    return [name, String(Math.round(rate)), (rate / ofB).toFixed(2), problem ?? 'yes'];
  });
  return [
    '## The floor, 32 connections, 0.4 KB',
    '',
    'The inbox alone records, claims, answers and marks done what comes, durably: nothing is verified, read, dispatched or',
    'logged. Medians of 3 rounds of 8 s, in alternation, without a profiler.',
    '',
    ...table(['server', 'deliveries/s', '÷ (b)', 'valid'], rows),
    ...coreTable(measured),
  ];
}

/** Each in microseconds per delivery. */
const columns: readonly (readonly [
  head: string,
  of: (times: CoreTimes) => ThreadTime,
  part: keyof ThreadTime,
])[] = [
  ['main thread', ({ main }) => main, 'ran'],
  ['in line for a core', ({ main }) => main, 'stoodInLine'],
  ['commit thread', ({ second }) => second, 'ran'],
  ['in line for a core', ({ second }) => second, 'stoodInLine'],
  ['other threads', ({ others }) => others, 'ran'],
];

function coreTable(measured: readonly FloorRuns[]): string[] {
  if (measured.every(({ cores }) => cores.length === 0)) return [];
  const rows = measured.map(({ name, runs, cores }) => {
    const perDelivery = (microseconds: (times: CoreTimes) => number): string =>
      median(cores.map((times, index) => microseconds(times) / (runs[index]?.answered ?? 0))).toFixed(1);
    const load = median(runs.map(({ cpu, rate }) => (cpu * 1e6) / rate)).toFixed(1);
    const wall = median(runs.map(({ rate }) => 1e6 / rate)).toFixed(1);
    return [name, wall, ...columns.map(([, of, part]) => perDelivery((times) => of(times)[part])), load];
  });
  return [
    'What they took of the two cores, in the same runs, as the kernel counts it: microseconds a delivery. The time of a',
    'delivery is what two cores have for it, so twice that is all there is; what is missing is the kernel’s own work for',
    'the network and the disk, and cores that stood idle.',
    '',
    ...table(['server', 'time of a delivery', ...columns.map(([head]) => head), 'load'], rows),
  ];
}
