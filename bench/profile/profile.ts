/**
 * Where the time of (e) and (f) goes, compared with (b), which stores nothing: each thread's own times by their
 * purpose, and its most expensive functions.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Server, servers as compared } from '../compare/servers.ts';
import { type Measured, type Setting, measure } from '../measure.ts';
import { type Start, inFolder } from '../processes.ts';
import { measuredOn, progress, publish, table } from '../report.ts';
import { floor } from './floor.ts';
import { groups } from './groups.ts';
import { type ThreadTimes, readProfile } from './read.ts';

const dearest = 15;
/** Microseconds between two samples. At the usual 1,000, sampling slows a small machine down threefold. */
const interval = 4_000;

/** A server to profile, and how it is loaded. */
export interface Case extends Pick<Setting, 'connections' | 'pace'> {
  readonly server: Server;
  readonly load: string;
}

/** Measures the floor, and profiles servers under the fullest load, and (e) where its targets are missed. */
export async function profile(): Promise<void> {
  const lines = ['# Where the time goes', '', measuredOn(), ''];
  const { lines: floorLines, halfPace } = await floor();
  const { b, e, f } = compared;
  const full = { load: '32 connections', connections: 32 };
  const cases: Case[] = [
    { server: b, ...full },
    { server: e, ...full },
    { server: f, ...full },
    { server: e, load: '128 connections', connections: 128 },
    { server: e, load: 'half of the highest rate', connections: 128, pace: halfPace },
    { server: e, load: 'one connection', connections: 1 },
  ];
  lines.push(...floorLines, '## Profiles', '');
  lines.push(
    'Own times; those of native functions are their callers’. Each is of the measured 8 s of a warm server, without its',
    'start and its warm-up. A profiled server is slower: the rate of the same run without a profiler, just before, is',
    'beside its own.',
    '',
  );
  for (const each of cases) lines.push(...(await profileOf(each)));
  publish(lines, 'results-profile.md');
}

/** Profiles a server, and says which of its functions take the most time. */
export function profileOf({ server, load, ...how }: Case): Promise<string[]> {
  return inFolder(async (folder) => {
    const { stores, backend } = server;
    const setting = { ...how, stores, ...(backend && { backend }), body: '0.4 KB', seconds: 8 } as const;
    const plain = await measure({ ...setting, start: server.start });
    const profiled = await measure({ ...setting, start: profiling(server.start, folder) });
    progress(`${server.name}, ${load}: ${described(profiled)} profiled, ${described(plain)} without`);
    const threads = readdirSync(folder)
      .toSorted()
      .map((file) => readProfile(join(folder, file), profiled));
    // The other threads do the same under each load.
    const shown = how.connections === 32 ? threads : threads.slice(0, 1);
    return [
      `### ${server.name}, ${load}: ${described(profiled)}; without a profiler ${described(plain)}`,
      '',
      ...groupTable(threads, profiled.answered),
      ...shown.flatMap((thread) => [`#### Dearest functions, ${thread.name}`, '', ...functionTable(thread)]),
    ];
  });
}

/** The same server, which writes a profile of each of its threads into the folder when it ends. */
function profiling(start: Start, folder: string): Start {
  const nodeFlags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${interval}`];
  return (database, options) => start(database, { ...options, nodeFlags });
}

function described({ rate, problem }: Measured): string {
  return `${Math.round(rate)} deliveries/s${problem === undefined ? '' : ` (not valid: ${problem})`}`;
}

/** Each thread's share of the time, and its microseconds per delivery, which show what a change saves or costs. */
function groupTable(threads: readonly ThreadTimes[], deliveries: number): string[] {
  const rows = groups.map((group) => [
    group,
    ...threads.flatMap(({ total, byGroup }) => {
      const time = byGroup.get(group) ?? 0;
      return [`${((time / total) * 100).toFixed(1)} %`, ((time * 1_000) / deliveries).toFixed(1)];
    }),
  ]);
  const head = threads.flatMap(({ name }) => [name, 'µs a delivery']);
  return table(['', ...head], rows);
}

function functionTable({ total, byFunction }: ThreadTimes): string[] {
  const rows = [...byFunction]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, dearest)
    .map(([name, time]) => [name.replaceAll('|', '\\|'), `${((time / total) * 100).toFixed(1)} %`]);
  return table(['function', 'own time'], rows);
}
