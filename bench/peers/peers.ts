/** Compares a receiver, on one file or on Postgres, with other stores of events, and prints which targets are reached. */
import { resultTable } from '../compare/result-table.ts';
import { type Results, type ServerKey, problemsOf, ratio } from '../compare/results.ts';
import { type Comparison, runRounds } from '../compare/rounds.ts';
import { everyPeer } from '../compare/servers.ts';
import { measuredOn, publish } from '../report.ts';
import { type Target, targetTable } from '../targets.ts';
import { describePostgres } from './postgres.ts';
import { describeRedis } from './redis.ts';

const titles = {
  d: 'what a user would write',
  h: 'one insert in Postgres',
  i: 'pg-boss',
  j: 'graphile-worker',
  k: 'BullMQ',
} as const;

/** A server to compare with the peers, and the least ratio of its rate to that of each. */
export interface Sitting {
  readonly of: 'e' | 'g';
  readonly title: string;
  readonly bounds: Readonly<Partial<Record<keyof typeof titles, number>>>;
  readonly connections: readonly number[];
  readonly file: string;
  /** Further measurements, in as many rounds. */
  readonly more?: (rounds: number) => Promise<readonly Part[]>;
}

/** Targets, and the results for them. */
export interface Part {
  readonly targets: readonly Target[];
  readonly lines: readonly string[];
}

/** (e), whose inbox is one file. */
export const onFile: Sitting = {
  of: 'e',
  title: 'Results beside peers',
  bounds: { d: 3, h: 1.5, i: 5, k: 1.4 },
  connections: [32],
  file: 'results-peers.md',
};

/** Runs the comparison. A quick run has one short round, and writes no file. */
export async function comparePeers(sitting: Sitting, { isQuick }: { isQuick: boolean }): Promise<void> {
  const { of, title, connections, file, more } = sitting;
  const machine = measuredOn();
  const postgres = await describePostgres();
  const redis = describeRedis();
  const rounds = isQuick ? 1 : 3;
  const seconds = isQuick ? 1.2 : 8;
  const peers = everyPeer.filter((key) => key !== 'k' || redis !== undefined);
  const among: readonly ServerKey[] = of === 'e' ? ['d', 'e', ...peers] : ['g', ...peers];
  const comparisons = connections.map((count): Comparison => ({
    title: `${count} connections, 0.4 KB`,
    among,
    connections: count,
    body: '0.4 KB',
    seconds,
    ...(isQuick && { warmUpSeconds: 1 }),
  }));
  const all = await runRounds(comparisons, rounds);
  const compared = comparisons.map((comparison, index) =>
    partOf(sitting, comparison, all[index] ?? new Map()),
  );
  const parts = [...compared, ...(isQuick ? [] : ((await more?.(rounds)) ?? []))];

  const medians = `${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s.`;
  const note =
    'Rates hold on this machine and day only: compare the ratios, which are medians of the rounds too.';
  const missing = `(k) was not measured: it takes a \`redis-server\`, and none is installed.`;
  const files = of === 'e' ? '(d) and (e) commit with FULL. ' : '';
  const lines = [
    `# ${title}`,
    '',
    `${machine} ${medians} ${note}`,
    '',
    `${files}${[postgres, redis].filter(Boolean).join('; ')}.`,
    '',
    ...(redis === undefined ? [missing, ''] : []),
    '## Targets',
    '',
    ...targetTable(parts.flatMap(({ targets }) => targets)),
    ...parts.flatMap((part) => part.lines),
  ];
  publish(lines, isQuick ? undefined : file);
}

function partOf({ of, bounds }: Sitting, { title, connections }: Comparison, results: Results): Part {
  const times = (under: ServerKey) => ratio({ results, server: of }, { results, server: under }, 'rate');
  const targets = Object.entries(bounds).map(([key, value]): Target => {
    const peer = key as keyof typeof bounds;
    return {
      name: `(${of}) ÷ (${peer}), ${titles[peer]}, ${connections} connections`,
      bound: 'at least',
      value,
      reached: times(peer),
      problem: problemsOf(results, of, peer),
    };
  });
  const spreads = [...results.keys()]
    .filter((key) => key !== of)
    .map((key) => `÷ (${key}) ${roundsOf(results, of, key)}`);
  return {
    targets,
    lines: [
      `## ${title}`,
      '',
      ...resultTable(results, { head: `(${of}) ÷ it`, of: times }),
      `Round by round: ${spreads.join('; ')}.`,
      '',
    ],
  };
}

/** The spread of the rounds, by which another sitting may differ from this one. */
function roundsOf(results: Results, of: ServerKey, under: ServerKey): string {
  const bases = results.get(under) ?? [];
  const ratios = (results.get(of) ?? []).map(({ rate }, round) => rate / (bases[round]?.rate ?? Number.NaN));
  return ratios.map((value) => value.toFixed(2)).join(', ');
}
