/** Compares a receiver on Postgres with its peers, and measures it with several processes and with a full inbox. */
import { resultTable } from '../compare/result-table.ts';
import { figure, problemsOf } from '../compare/results.ts';
import { runAtHalf } from '../compare/rounds.ts';
import type { Part, Sitting } from '../peers/peers.ts';
import { median } from '../report.ts';
import { measureFloor } from './floor.ts';
import { measureFull } from './full.ts';
import { measureTogether } from './together.ts';

/** The sitting of (g). `events`: how many the full inbox has. */
export function onPostgres(events: number): Sitting {
  return {
    of: 'g',
    title: 'Results on Postgres',
    bounds: { h: 1.3, i: 4, j: 1.5, k: 1 },
    connections: [32, 128],
    file: 'results-postgres.md',
    more: async (rounds) => [
      await measureHalf(rounds),
      await measureFloor(),
      await measureTogether(rounds),
      await measureFull(events, rounds),
    ],
  };
}

async function measureHalf(rounds: number): Promise<Part> {
  const title = 'Half of the highest rate of (g)';
  const setting = { title, server: 'g', connections: 32, body: '0.4 KB', seconds: 8 } as const;
  const { paces, unwatched: results } = await runAtHalf(setting, rounds);
  return {
    targets: [
      {
        name: 'p99 of the answer of (g) at half of the highest rate',
        bound: 'at most',
        value: 25,
        unit: 'ms',
        reached: figure(results, 'g', 'p99'),
        problem: problemsOf(results, 'g'),
      },
    ],
    lines: [
      `## ${title}: ${paces.join(', ')} deliveries/s at an even pace`,
      '',
      ...resultTable(results, { head: '÷ half', of: () => figure(results, 'g', 'rate') / median(paces) }),
    ],
  };
}
