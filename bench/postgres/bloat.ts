/**
 * Whether a transaction that stays open, such as a report or a backup, slows down an inbox on Postgres: vacuum can't
 * remove what is deleted meanwhile. Events come at a steady pace, and the transaction is open except in the first and
 * the last minute.
 */
import { Client } from 'pg';
import { postgresBackend, events as counts } from '../peers/postgres.ts';
import { settled } from '../measure.ts';
import { Load, serverFile } from '../processes.ts';
import { measuredOn, median, progress, publish, table } from '../report.ts';

/** In deliveries a second: the pace of a busy sender, far below what the machine can do. */
const pace = 100;
const connections = 32;
/** How long a part is, in seconds. After each, the tables are measured. */
const part = 60;

export async function measureBloat(minutes: number): Promise<void> {
  const machine = measuredOn();
  const backend = await postgresBackend(counts);
  const server = await serverFile('g-postgres.ts')(backend.address);
  const load = new Load();
  const holder = new Client({ connectionString: backend.address });
  const looker = new Client({ connectionString: backend.address });
  const rows: string[][] = [];
  let accepted = 0;
  try {
    await Promise.all([holder.connect(), looker.connect()]);
    for (let minute = 1; minute <= minutes; minute += 1) {
      if (minute === 2)
        await holder.query('begin isolation level repeatable read; select from ringback.events limit 1');
      if (minute === minutes) await holder.query('commit');
      const order = { port: server.port, connections, body: '0.4 KB', pace } as const;
      const report = await load.run({ ...order, seconds: part, max: pace * part });
      accepted += report.accepted;
      const isOpen = minute > 1 && minute < minutes;
      const { dead, most, claim } = await look(looker);
      rows.push([
        String(minute),
        isOpen ? 'open' : '',
        String(accepted),
        String(dead),
        most,
        claim.toFixed(2),
        report.p50.toFixed(1),
        report.p99.toFixed(1),
        String(report.answered - report.accepted + report.broken),
      ]);
      progress(rows.at(-1)?.join(' | ') ?? '');
    }
    const counter = await backend.counter();
    const problem = await settled(counter, 0, accepted);
    await counter.close();
    const lines = [
      '# Beside an open transaction',
      '',
      `${machine} (g) takes ${pace} deliveries a second over ${connections} connections.`,
      problem === undefined ? 'All of them were handled and marked done.' : `Not valid: ${problem}.`,
      '',
      'Dead tuples are those of all tables of the inbox, as Postgres counts them. The search is what a claim of waiting',
      'events begins with, on a second connection: the median of 21.',
      '',
    ];
    const head = [
      'minute',
      'transaction',
      'events',
      'dead tuples',
      'most in',
      'search ms',
      'p50 ms',
      'p99 ms',
      'not answered 200',
    ];
    publish([...lines, ...table(head, rows)], 'results-bloat.md');
  } finally {
    await Promise.all([holder.end(), looker.end(), load.end(), server.end()]);
    await backend.close();
  }
}

async function look(client: Client): Promise<{ dead: number; most: string; claim: number }> {
  const { rows } = await client.query<{ relname: string; dead: number }>(
    `select relname, n_dead_tup::integer as dead from pg_stat_user_tables where schemaname = 'ringback' order by dead desc`,
  );
  const times: number[] = [];
  for (let count = 0; count < 21; count += 1) {
    const startedAt = performance.now();
    await client.query(
      `select sequence from ringback.waiting
       where call_id is null or call_id not in (select ringback.calls_of_others(0)) order by sequence limit 256`,
    );
    times.push(performance.now() - startedAt);
  }
  const [first] = rows;
  return {
    dead: rows.reduce((sum, { dead }) => sum + dead, 0),
    most: first === undefined || first.dead === 0 ? '' : `${first.relname}: ${first.dead}`,
    claim: median(times),
  };
}
