/** Compares a mounted receiver with what else events are kept in, and says which targets are reached. */
import { resultTable } from '../compare/result-table.ts';
import { type Results, type ServerKey, problemsOf, ratio } from '../compare/results.ts';
import { runRounds } from '../compare/rounds.ts';
import { everyPeer } from '../compare/servers.ts';
import { measuredOn, publish } from '../report.ts';
import { type Target, targetTable } from '../targets.ts';
import { describePostgres } from './postgres.ts';
import { describeRedis } from './redis.ts';

/** How many times as many deliveries as each of the others (e), and (g), is to answer. */
const bounds = [
  { of: 'e', peer: 'd', name: '(e) ÷ (d), what a user would write', value: 3 },
  { of: 'e', peer: 'p1', name: '(e) ÷ (p1), one insert in Postgres', value: 1.5 },
  { of: 'e', peer: 'p2', name: '(e) ÷ (p2), pg-boss', value: 5 },
  { of: 'e', peer: 'p3', name: '(e) ÷ (p3), BullMQ', value: 1.4 },
  { of: 'g', peer: 'p1', name: '(g) ÷ (p1), one insert in Postgres', value: 1.3 },
  { of: 'g', peer: 'p2', name: '(g) ÷ (p2), pg-boss', value: 4 },
  { of: 'g', peer: 'p3', name: '(g) ÷ (p3), BullMQ', value: 1 },
] as const;

/** Runs the comparison. The quick one has one short round, and writes no file. */
export async function comparePeers({ isQuick }: { isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const postgres = await describePostgres();
  const redis = describeRedis();
  const rounds = isQuick ? 1 : 3;
  const seconds = isQuick ? 1.2 : 8;
  const among = everyPeer.filter((key) => key !== 'p3' || redis !== undefined);
  const title = '32 connections, 0.4 KB';
  const setting = { title, among, connections: 32, body: '0.4 KB', seconds } as const;
  const [results] = await runRounds([{ ...setting, ...(isQuick && { warmUpSeconds: 1 }) }], rounds);
  if (!results) throw new Error('The comparison has no results');

  const times = (under: ServerKey) => ratioOf(results, 'e', under);
  const targets = bounds.map(({ of, peer, name, value }): Target => ({
    name,
    bound: 'at least',
    value,
    reached: ratioOf(results, of, peer),
    problem: problemsOf(results, of, peer),
  }));
  const medians = `${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s.`;
  const note =
    'Rates hold on this machine and day only: compare the ratios, which are medians of the rounds too.';
  const missing = `(p3) was not measured: it takes a \`redis-server\`, and none is installed.`;
  const lines = [
    '# Results beside peers',
    '',
    `${machine} ${medians} ${note}`,
    '',
    `(d) and (e) commit with FULL. ${[postgres, redis].filter(Boolean).join('; ')}.`,
    '',
    ...(redis === undefined ? [missing, ''] : []),
    '## Targets',
    '',
    ...targetTable(targets),
    `## ${title}`,
    '',
    ...resultTable(results, { head: '(e) ÷ it', of: times }),
  ];
  publish(lines, isQuick ? undefined : 'results-peers.md');
}

/** NaN for one that was not measured. */
function ratioOf(results: Results, of: ServerKey, under: ServerKey): number {
  return ratio({ results, server: of }, { results, server: under }, 'rate');
}
