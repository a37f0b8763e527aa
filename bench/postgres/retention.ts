/**
 * What retention costs on Postgres, where it deletes rows instead of dropping partitions: at a steady pace, with
 * everything kept, and with as many events and trace ids removed as come.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { Client } from 'pg';
import { Load, type Start, serverFile } from '../processes.ts';
import { postgresBackend, events as counts } from '../peers/postgres.ts';
import { measuredOn, median, progress, publish, table } from '../report.ts';

/** In deliveries a second: less than the thousand events a second that one process removes at the most. */
const pace = 400;
const connections = 32;
/** How long a part is, in seconds, and how many there are. In the first, nothing is old enough to be removed. */
const [part, parts] = [30, 4];
const rounds = 2;

const plain = serverFile('g-postgres.ts');
const kinds: Readonly<Record<string, Start>> = {
  'all is kept': plain,
  'events are kept for 20 s, trace ids for 40 s': (database, options = {}) =>
    plain(database, { ...options, arguments: [...(options.arguments ?? []), '--kept'] }),
};

interface Part {
  /** CPU time of all processes of the server per delivery, vacuum included, in microseconds. */
  readonly cpu: number;
  readonly p99: number;
  readonly events: number;
  readonly traceIds: number;
  /** Of all tables and indexes. */
  readonly megabytes: number;
  readonly dead: number;
}

export async function measureRetention(): Promise<void> {
  const machine = measuredOn();
  const runs = new Map<string, Part[][]>(Object.keys(kinds).map((kind) => [kind, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [kind, start] of Object.entries(kinds)) {
      const run = await measured(start);
      progress(`round ${round}, ${kind}: ${cpuOf(run).toFixed(0)} µs`);
      runs.get(kind)?.push(run);
    }
  }
  const [kept = []] = runs.values();
  const rows = [...runs].map(([kind, each]) => {
    const last = each.flatMap((run) => run.at(-1) ?? []);
    const range = (of: (part: Part) => number) =>
      `${Math.min(...last.map(of))} to ${Math.max(...last.map(of))}`;
    return [
      kind,
      median(each.map((run, round) => cpuOf(run) / cpuOf(kept[round] ?? []))).toFixed(2),
      median(each.flatMap((run) => run.slice(1).map(({ p99 }) => p99))).toFixed(1),
      range(({ events }) => events),
      range(({ traceIds }) => traceIds),
      range(({ megabytes }) => megabytes),
      range(({ dead }) => dead),
    ];
  });
  const head = [
    '',
    "Postgres' CPU a delivery ÷ all is kept",
    'p99 ms',
    'events at the end',
    'trace ids',
    'MB',
    'dead tuples',
  ];
  publish(
    [
      '# What retention costs on Postgres',
      '',
      `${machine} (g) takes ${pace} deliveries a second for ${part * parts} s, ${rounds} times in alternation.`,
      'The CPU is that of all processes of the server, vacuum included; it and p99 leave out the first part of a run.',
      '',
      ...table(head, rows),
    ],
    'results-retention.md',
  );
}

/** A run without its first part. */
function cpuOf(run: readonly Part[]): number {
  return median(run.slice(1).map(({ cpu }) => cpu));
}

async function measured(start: Start): Promise<Part[]> {
  const backend = await postgresBackend(counts);
  const server = await start(backend.address);
  const load = new Load();
  const looker = new Client({ connectionString: backend.address });
  const found: Part[] = [];
  try {
    await looker.connect();
    const order = { port: server.port, connections, body: '0.4 KB', pace, seconds: part } as const;
    for (let count = 1; count <= parts; count += 1) {
      const before = await cpuTime(looker);
      const { accepted, p99 } = await load.run({ ...order, max: pace * part });
      const cpu = ((await cpuTime(looker)) - before) / accepted;
      const { rows } = await looker.query<Omit<Part, 'cpu' | 'p99'>>(look);
      if (rows[0]) found.push({ cpu, p99, ...rows[0] });
    }
    return found;
  } finally {
    await Promise.all([looker.end(), load.end(), server.end()]);
    await backend.close();
  }
}

const look = `
  select (select count(*) from ringback.events)::integer as events,
    (select count(*) from ringback.identities)::integer as "traceIds",
    (sum(pg_total_relation_size(relid)) / 1048576)::integer as megabytes,
    sum(n_dead_tup)::integer as dead
  from pg_stat_user_tables where schemaname = 'ringback'`;

/**
 * The CPU time of the server's processes, in microseconds: of those that live, and of those that have ended, as
 * vacuum's do after each table.
 */
async function cpuTime(looker: Client): Promise<number> {
  const { rows } = await looker.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postmaster = statOf(rows[0]?.pid ?? 0)?.parent ?? 0;
  const living = readdirSync('/proc').flatMap((pid) =>
    /^\d+$/.test(pid) ? (statOf(Number(pid)) ?? []) : [],
  );
  const children = living.filter(({ parent }) => parent === postmaster);
  const own = statOf(postmaster);
  return (own?.ran ?? 0) + (own?.ended ?? 0) + children.reduce((sum, { ran }) => sum + ran, 0);
}

/** A process's own CPU time and that of its ended children, in microseconds; the kernel counts hundredths of a second. */
function statOf(
  pid: number,
): { readonly parent: number; readonly ran: number; readonly ended: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11);
    return { parent, ran: (user + system) * 10_000, ended: (endedUser + endedSystem) * 10_000 };
  } catch {
    return undefined;
  }
}
