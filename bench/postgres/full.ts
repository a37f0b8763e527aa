import { postgresBackend, events as counts } from '../peers/postgres.ts';
import type { Part } from '../peers/peers.ts';
import { type Measured, measure } from '../measure.ts';
import { serverFile } from '../processes.ts';
import { fillPostgres } from '../operate/many-events.ts';
import { median, progress, table } from '../report.ts';

/** Compares the rates with a full and an empty inbox, in alternation. The events of the full one are made by SQL. */
export async function measureFull(events: number, rounds: number): Promise<Part> {
  const start = serverFile('g-postgres.ts');
  const backend = await postgresBackend(counts);
  try {
    await (await start(backend.address)).end();
    await fillPostgres(backend.address, events);
    const setting = { start, stores: true, connections: 32, body: '0.4 KB', seconds: 8 } as const;
    const empty: Measured[] = [];
    const full: Measured[] = [];
    const kept = { ...backend, close: () => Promise.resolve() };
    for (let round = 1; round <= rounds; round += 1) {
      empty.push(await measure({ ...setting, backend: () => postgresBackend(counts) }));
      full.push(await measure({ ...setting, backend: () => Promise.resolve(kept) }));
      const [emptyRate, fullRate] = [empty, full].map((runs) => Math.round(runs.at(-1)?.rate ?? 0));
      progress(`round ${round}: ${emptyRate}/s into an empty inbox, ${fullRate}/s into the full one`);
    }
    const row = (inbox: string, runs: readonly Measured[]) => [
      inbox,
      median(runs.map(({ rate }) => rate)).toFixed(0),
      median(runs.map(({ p99 }) => p99)).toFixed(1),
      runs.flatMap(({ problem }) => problem ?? [])[0] ?? 'yes',
    ];
    const rows = [row('empty', empty), row(`${events} events`, full)];
    return {
      targets: [
        {
          name: `rate of (g) with ${events} events in the inbox ÷ empty`,
          bound: 'at least',
          value: 0.85,
          reached: median(full.map(({ rate }, round) => rate / (empty[round]?.rate ?? Number.NaN))),
          problem: [...empty, ...full].flatMap(({ problem }) => problem ?? [])[0],
        },
      ],
      lines: [
        '## A full inbox, 32 connections',
        '',
        ...table(['inbox', 'deliveries/s', 'p99 ms', 'valid'], rows),
      ],
    };
  } finally {
    await backend.close();
  }
}
