/**
 * Where the time of (e) and (f) goes, compared with (b), which stores nothing: each thread's own times by their
 * purpose, and its most expensive functions.
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { servers as compared } from '../compare/servers.ts';
import { Load, type Start, inFolder } from '../processes.ts';
import { measuredOn, progress, publish, table } from '../report.ts';
import { floor } from './floor.ts';
import { groups } from './groups.ts';
import { type ThreadTimes, readProfile } from './read.ts';

const seconds = 8;
const dearest = 15;
const servers = [compared.b, compared.e, compared.f];

/** Measures the floor, and profiles the servers under the fullest load of 32 connections. */
export async function profile(): Promise<void> {
  const lines = ['# Where the time goes', '', measuredOn(), '', ...(await floor())];
  lines.push('## Profiles', '');
  lines.push('Own times; those of native functions are their callers’. A profiled server is slower.', '');
  for (const { name, start } of servers) lines.push(...(await profileOf(name, start)));
  publish(lines, 'results-profile.md');
}

function profileOf(name: string, start: Start): Promise<string[]> {
  return inFolder(async (folder) => {
    const profiles = join(folder, 'profiles');
    mkdirSync(profiles);
    const nodeFlags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
    const server = await start(join(folder, 'inbox.db'), { nodeFlags });
    const load = new Load();
    const order = { port: server.port, connections: 32, body: '0.4 KB', pace: 0 } as const;
    const { rate, answered } = await load.run({ ...order, seconds, most: 60_000 * seconds });
    await Promise.all([load.end(), server.end()]);
    progress(`${name}: ${Math.round(rate)}/s under the profiler`);
    const threads = readdirSync(profiles)
      .toSorted()
      .map((file) => readProfile(join(profiles, file)));
    return [
      `### ${name}, ${Math.round(rate)} deliveries/s`,
      '',
      ...groupTable(threads, answered),
      ...threads.flatMap((thread, index) => [
        `#### Dearest functions, ${threadName(index)}`,
        '',
        ...functionTable(thread),
      ]),
    ];
  });
}

function threadName(index: number): string {
  return index === 0 ? 'main thread' : `thread ${index + 1}`;
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
  const head = threads.flatMap((_, index) => [threadName(index), 'µs a delivery']);
  return table(['', ...head], rows);
}

function functionTable({ total, byFunction }: ThreadTimes): string[] {
  const rows = [...byFunction]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, dearest)
    .map(([name, time]) => [name.replaceAll('|', '\\|'), `${((time / total) * 100).toFixed(1)} %`]);
  return table(['function', 'own time'], rows);
}
