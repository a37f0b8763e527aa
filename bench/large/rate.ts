import { type Measured, measure } from '../measure.ts';
import { serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';
import type { Part } from './part.ts';

const rounds = 3;

/** Compares the rates with a full and an empty inbox, in alternation, since the machine's speed may have changed. */
export async function measureRate(database: string, events: number): Promise<Part> {
  const start = serverFile('e-mounted.ts');
  const setting = { start, stores: true, connections: 32, body: '0.4 KB', seconds: 8 } as const;
  const empty: Measured[] = [];
  const full: Measured[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    empty.push(await measure(setting));
    full.push(await measure({ ...setting, database }));
    const [emptyRate, fullRate] = [empty, full].map((runs) => Math.round(runs.at(-1)?.rate ?? 0));
    progress(`round ${round}: ${emptyRate}/s into an empty inbox, ${fullRate}/s into the full one`);
  }
  const rateOf = (runs: readonly Measured[]) => median(runs.map(({ rate }) => rate));
  const row = (inbox: string, runs: readonly Measured[]) => [
    inbox,
    String(Math.round(rateOf(runs))),
    median(runs.map(({ p99 }) => p99)).toFixed(1),
    Math.max(...runs.map(({ stall }) => stall ?? 0)).toFixed(1),
  ];
  const head = ['inbox', 'deliveries/s', 'p99 ms', 'longest stall ms'];
  return {
    targets: [
      {
        name: `rate with ${events} events in the inbox ÷ empty`,
        bound: 'at least',
        value: 0.8,
        hoped: 0.95,
        reached: rateOf(full) / rateOf(empty),
        problem: [...empty, ...full].flatMap(({ problem }) => problem ?? [])[0],
      },
    ],
    lines: ['## Rate', '', ...table(head, [row('empty', empty), row('full', full)])],
  };
}
