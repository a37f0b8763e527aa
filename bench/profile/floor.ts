import { type Server, servers as compared } from '../compare/servers.ts';
import { type Measured, measure } from '../measure.ts';
import { serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';
import { type CoreTimes, type ThreadTime, watchingCores } from './cores.ts';

const rounds = 3;
const setting = { body: '0.4 KB', seconds: 8 } as const;

const inboxBehindExpress: Server = {
  name: 'the inbox alone behind Express',
  start: (database, options = {}) =>
    serverFile('floor.ts')(database, { ...options, arguments: ['--express'] }),
  stores: true,
};
const inboxBehindNode: Server = {
  name: 'the inbox alone behind node:http',
  start: serverFile('floor.ts'),
  stores: true,
};
const least: Server = {
  name: 'one writer thread, nothing else',
  start: serverFile('least.ts'),
  stores: true,
};
const everyServer = [
  compared.b,
  compared.d,
  inboxBehindExpress,
  compared.e,
  least,
  inboxBehindNode,
  compared.f,
];
const mounted = [compared.b, compared.d, least, inboxBehindExpress, compared.e];
/** Without (d), which can't sustain half of the rate of (e). */
const paced = mounted.filter((server) => server !== compared.d);
/** With one connection, the others are compared with (d). */
const alone = [compared.d, least, inboxBehindExpress, compared.e];

/** A server's runs, and the CPU time of each. */
export interface FloorRuns {
  readonly name: string;
  readonly runs: Measured[];
  readonly cores: CoreTimes[];
}

/**
 * Measures the inbox by itself, to which the rest of a receiver adds time. The servers are measured in alternation,
 * without a profiler.
 */
export async function floor(): Promise<{ lines: string[]; halfPace: number }> {
  const at32 = await inAlternation(everyServer, { connections: 32 });
  const at128 = await inAlternation(mounted, { connections: 128 });
  const halfPace = Math.round(rateOf(at128.at(-1)) / 2);
  const atHalf = await inAlternation(paced, { connections: 128, pace: halfPace });
  const at1 = await inAlternation(alone, { connections: 1 });
  const lines = [
    '## The floor, 32 connections, 0.4 KB',
    '',
    'The inbox alone records, claims, answers and marks done what comes, durably: nothing is verified, read, dispatched or',
    'logged. One writer thread and nothing else is the least that any durable receiver on one SQLite file does: node:http',
    'reads the body, one thread writes what has come in to a table without indexes, with one FULL commit, and it is',
    'answered. Nothing is recognized as a duplicate, claimed or marked. Medians of 3 rounds of 8 s, in alternation, without',
    'a profiler; of the stalls, the longest of all rounds.',
    '',
    ...floorTable(at32),
    ...coreTable(at32, onFile),
    '## The floor, 128 connections, 0.4 KB',
    '',
    ...floorTable(at128),
    `## The floor at half of the highest rate of (e): ${halfPace} deliveries/s at an even pace, 128 connections, 0.4 KB`,
    '',
    '(d) is left out, since it may not bear this pace.',
    '',
    ...floorTable(atHalf),
    '## The floor, one connection, 0.4 KB',
    '',
    'A lone delivery has a commit to itself: (d) makes it on the main thread, the others on a thread of its own.',
    '',
    ...floorTable(at1, '(d)'),
    ...coreTable(at1, onFile),
  ];
  return { lines, halfPace };
}

/** Measures servers and their CPU time, in alternation. */
export async function inAlternation(
  servers: readonly Server[],
  load: { readonly connections: number; readonly pace?: number },
): Promise<FloorRuns[]> {
  const measured = servers.map(({ name }): FloorRuns => ({ name, runs: [], cores: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { name, start, stores, backend }] of servers.entries()) {
      const watched = watchingCores(start, (times) => measured[index]?.cores.push(times));
      const run = await measure({ ...setting, ...load, start: watched, stores, ...(backend && { backend }) });
      measured[index]?.runs.push(run);
      progress(`The floor, round ${round}, ${name}: ${Math.round(run.rate)}/s`);
    }
  }
  return measured;
}

function rateOf(measured: FloorRuns | undefined): number {
  return median((measured?.runs ?? []).map(({ rate }) => rate));
}

/** The others are compared with the first server. */
function floorTable(measured: readonly FloorRuns[], first = '(b)'): string[] {
  const ofFirst = rateOf(measured[0]);
  const rows = measured.map((server) => {
    const { name, runs } = server;
    const stalls = runs.flatMap(({ stall }) => stall ?? []);
    return [
      name,
      String(Math.round(rateOf(server))),
      (rateOf(server) / ofFirst).toFixed(2),
      median(runs.map(({ p50 }) => p50)).toFixed(2),
      median(runs.map(({ p99 }) => p99)).toFixed(1),
      stalls.length === 0 ? '' : Math.max(...stalls).toFixed(1),
      runs.find(({ problem }) => problem !== undefined)?.problem ?? 'yes',
    ];
  });
  const head = ['server', 'deliveries/s', `÷ ${first}`, 'p50 ms', 'p99 ms', 'longest stall ms', 'valid'];
  return table(head, rows);
}

/** Each in microseconds per delivery. */
export type CoreColumn = readonly [
  head: string,
  of: (times: CoreTimes) => ThreadTime,
  part: keyof ThreadTime,
];

const onFile: readonly CoreColumn[] = [
  ['main thread', ({ main }) => main, 'ran'],
  ['in line for a core', ({ main }) => main, 'stoodInLine'],
  ['writer thread', ({ second }) => second, 'ran'],
  ['in line for a core', ({ second }) => second, 'stoodInLine'],
  ['other threads', ({ others }) => others, 'ran'],
];

/** The CPU time of the servers. */
export function coreTable(measured: readonly FloorRuns[], columns: readonly CoreColumn[]): string[] {
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
