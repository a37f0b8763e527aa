import { type Counts, events, inserted, postgresBackend } from '../peers/postgres.ts';
import type { Part } from '../peers/peers.ts';
import { maxWarmUp, settled, warmDeliveries } from '../measure.ts';
import { Load, type Running, serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';
import type { LoadReport } from '../load/order.ts';

const processes = [1, 2, 4] as const;
const connections = 128;
const seconds = 8;
/** How many deliveries to prepare for each second. */
const prepared = 16_000;

interface Together {
  readonly rate: number;
  readonly p99: number;
  readonly problem: string | undefined;
}

/** A server that is measured as several processes, and how its events are counted. */
interface Measured {
  readonly label: string;
  readonly file: string;
  readonly counts: Counts;
}

const ringback: Measured = {
  label: '(g) Ringback in Express, on Postgres',
  file: 'g-postgres.ts',
  counts: events,
};
/** Its deliveries don't depend on each other: what it loses is the cost of more processes on the same cores. */
const oneInsert: Measured = { label: '(h) one insert in Postgres', file: 'h-insert.ts', counts: inserted };

/** Measures several processes on one Postgres, with the same number of connections in total. */
export async function measureTogether(rounds: number): Promise<Part> {
  const runs = new Map<string, Together[]>();
  const of = ({ file }: Measured, count: number) => runs.get(`${file} ${count}`) ?? [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const server of [ringback, oneInsert]) {
      for (const count of processes) {
        const run = await together(server, count);
        progress(`${count} × ${server.file}, round ${round}: ${Math.round(run.rate)}/s ${run.problem ?? ''}`);
        runs.set(`${server.file} ${count}`, [...of(server, count), run]);
      }
    }
  }
  const times = (server: Measured, count: number) =>
    median(of(server, count).map(({ rate }, round) => rate / (of(server, 1)[round]?.rate ?? Number.NaN)));
  const problemOf = (server: Measured, ...asked: number[]) =>
    asked.flatMap((count) => of(server, count).flatMap(({ problem }) => problem ?? []))[0];
  const rows = [ringback, oneInsert].flatMap((server) =>
    processes.map((count) => [
      server.label,
      String(count),
      median(of(server, count).map(({ rate }) => rate)).toFixed(0),
      times(server, count).toFixed(2),
      median(of(server, count).map(({ p99 }) => p99)).toFixed(1),
      problemOf(server, count) ?? 'yes',
    ]),
  );
  return {
    targets: processes.slice(1).map((count) => ({
      name: `${count} processes of (g) ÷ one, ${connections} connections`,
      bound: 'at least',
      value: 0.9,
      reached: times(ringback, count),
      problem: problemOf(ringback, 1, count),
    })),
    lines: [
      `## Several processes, ${connections} connections in all`,
      '',
      ...table(['server', 'processes', 'deliveries/s', '÷ one', 'p99 ms', 'valid'], rows),
    ],
  };
}

async function together({ file, counts }: Measured, count: number): Promise<Together> {
  const backend = await postgresBackend(counts);
  const servers: Running[] = [];
  const loads = Array.from({ length: count }, () => new Load());
  try {
    // The first one makes the tables.
    while (servers.length < count) servers.push(await serverFile(file)(backend.address));
    const run = (time: number, max: number) =>
      Promise.all(
        servers.map(({ port }, index) =>
          (loads[index] as Load).run({
            port,
            connections: connections / count,
            body: '0.4 KB',
            seconds: time,
            max,
            pace: 0,
          }),
        ),
      );
    // Warms each process up as if it were alone: the first deliveries take Node two to three times as long.
    await run(maxWarmUp * count, warmDeliveries);
    const rows = await backend.counter();
    try {
      await settled(rows, 0, 0);
      const since = await rows.last();
      for (const server of servers) await server.begin();
      const reports = await run(seconds, Math.ceil((prepared / count) * seconds));
      const handled = async () => {
        const each = await Promise.all(servers.map((server) => server.handled()));
        // Undefined for a server without handlers.
        return each.reduce((sum, one) => (sum === undefined || one === undefined ? undefined : sum + one));
      };
      const sum = (one: (report: LoadReport) => number) =>
        reports.reduce((all, report) => all + one(report), 0);
      const accepted = sum((report) => report.accepted);
      const refused = sum((report) => report.answered - report.accepted + report.broken);
      const problem =
        refused > 0
          ? `${refused} refused or not answered`
          : await settled(rows, since, accepted, { handled });
      const p99 = Math.max(...reports.map((report) => report.p99));
      return { rate: sum(({ rate }) => rate), p99, problem };
    } finally {
      await rows.close();
    }
  } finally {
    await Promise.all([...loads, ...servers].map((one) => one.end()));
    await backend.close();
  }
}
