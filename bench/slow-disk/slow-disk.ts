/**
 * Measures a server on a disk that takes 300 ms for each sync, under three times the load that it can sustain. Answers
 * must still come within the sender's second, memory must stay bounded, and afterwards the server must recover by
 * itself.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { LoadReport } from '../load/order.ts';
import { Load, type Running, inFolder, littleMemory, serverFile } from '../processes.ts';
import { measuredOn, progress, publish, table } from '../report.ts';
import { Rows } from '../rows.ts';
import { type Target, targetTable } from '../targets.ts';
import { slowSync, syncTakes } from './slow-sync.ts';
import { findSustainable } from './sustainable.ts';

const seconds = { overloaded: 20, afterwards: 5 };
/** More connections than are busy at any time if each delivery is answered within the sender's second. */
const maxConnections = 8_000;
const times = 3;
/** How long to wait until all acknowledged events are handled, in milliseconds: each step costs a slow sync. */
const recoveryTimeout = 60_000;

/** What was measured, in this order. */
interface Story {
  readonly sustainable: LoadReport;
  readonly overloaded: LoadReport;
  readonly afterwards: LoadReport;
  /** Resident memory in megabytes: before the overload, and the most during it. */
  readonly memory: { readonly before: number; readonly most: number };
  /** The number of events that were acknowledged but not stored. */
  readonly lost: number;
  /** The number of events that were answered 503 during the overload and stored all the same. */
  readonly storedPutOff: number;
  /** Seconds from the end of the overload until all events were handled; infinite if never. */
  readonly recovery: number;
}

/** Overloads a mounted server on a slow disk. */
export async function measureSlowDisk(): Promise<void> {
  await inFolder(async (folder) => {
    const slow = slowSync(folder);
    if (!slow) {
      publish(['The slow disk was not measured: it takes Linux and gcc, to delay what a server syncs.']);
      return;
    }
    const database = join(folder, 'inbox.db');
    const environment = { ...littleMemory.environment, ...slow };
    const server = await serverFile('e-mounted.ts')(database, { ...littleMemory, environment });
    try {
      publish(linesOf(await overload(server, database)), 'results-slow-disk.md');
    } finally {
      await server.end();
    }
  });
}

async function overload(server: Running, database: string): Promise<Story> {
  const load = new Load();
  const rows = new Rows(database);
  const order = { port: server.port, connections: maxConnections, body: '0.4 KB' } as const;
  try {
    const found = await findSustainable(
      (paced) => load.run({ ...order, ...paced, tellsIds: true }),
      () => handled(rows),
    );
    const { pace: rate, report: sustainable } = found;
    progress(`sustainable: ${Math.round(rate)}/s`);

    const before = residentMemory(server.pid);
    const watch = watchMemory(server.pid);
    const pace = rate * times;
    const even = { ...order, pace, max: Math.ceil(pace * seconds.overloaded), tellsIds: true };
    const overloaded = await load.run({ ...even, seconds: seconds.overloaded });
    const recovery = await handled(rows);
    const most = watch.end();
    progress(`overloaded: ${overloaded.accepted} accepted, ${overloaded.putOff} put off`);

    const gentle = { ...order, pace: rate / times, max: Math.ceil(rate * seconds.afterwards) };
    const afterwards = await load.run({ ...gentle, seconds: seconds.afterwards });
    await handled(rows);
    const lost = rows.missing([...found.acceptedIds, ...overloaded.acceptedIds]).length;
    const storedPutOff = overloaded.putOff - rows.missing(overloaded.putOffIds).length;
    return { sustainable, overloaded, afterwards, memory: { before, most }, lost, storedPutOff, recovery };
  } finally {
    rows.close();
    await load.end();
  }
}

/** Waits until all stored events are handled and marked done. Resolves to the seconds; infinite if never. */
async function handled(rows: Rows): Promise<number> {
  const startedAt = performance.now();
  while (rows.open() > 0) {
    if (performance.now() - startedAt > recoveryTimeout) return Infinity;
    await wait(100);
  }
  return (performance.now() - startedAt) / 1_000;
}

function watchMemory(pid: number): { end: () => number } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, residentMemory(pid));
  }, 100);
  return {
    end: () => {
      clearInterval(timer);
      return most;
    },
  };
}

/** Read from outside the server, which may not get to report it while it is overloaded. */
function residentMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_024;
}

function linesOf(story: Story): string[] {
  const { sustainable, overloaded, afterwards, memory, lost, storedPutOff, recovery } = story;
  const neither = (report: LoadReport) => report.answered - report.accepted - report.putOff + report.broken;
  const targets: Target[] = [
    {
      name: 'answers that are neither 200 nor 503 with Retry-After',
      reached: neither(overloaded),
      value: 0,
      bound: 'at most',
    },
    { name: 'longest answer', reached: overloaded.longest, value: 1_000, unit: 'ms', bound: 'at most' },
    { name: 'most memory while overloaded', reached: memory.most, value: 400, unit: 'MB', bound: 'at most' },
    { name: 'acknowledged and not stored', reached: lost, value: 0, bound: 'at most' },
    {
      name: 'from the end of the load until all is handled',
      reached: recovery,
      value: 60,
      unit: 's',
      bound: 'at most',
    },
    {
      name: 'refused afterwards, at a third of the sustainable load',
      reached: afterwards.answered - afterwards.accepted + afterwards.broken,
      value: 0,
      bound: 'at most',
    },
  ];
  const row = (name: string, report: LoadReport) => [
    name,
    ...[report.rate, report.accepted, report.putOff, neither(report)].map((count) =>
      String(Math.round(count)),
    ),
    ...[report.p50, report.p99, report.longest].map((time) => time.toFixed(0)),
  ];
  const head = ['load', 'answers/s', '200', '503', 'other', 'p50 ms', 'p99 ms', 'longest ms'];
  return [
    '# Results on a slow disk',
    '',
    `${measuredOn()} Each sync takes ${syncTakes} ms longer. Memory before the overload: ${Math.round(memory.before)} MB.`,
    '',
    ...targetTable(targets),
    ...table(head, [
      row('the highest pace without a 503', sustainable),
      row(`${times} times as much`, overloaded),
      row('a third of it, afterwards', afterwards),
    ]),
    `Of the deliveries of the overload, ${((overloaded.accepted / overloaded.answered) * 100).toFixed(1)} % were answered 200.`,
    `Of the ${overloaded.putOff} that were answered 503, ${storedPutOff} were stored all the same.`,
  ];
}
