import { type Measured, measure } from '../measure.ts';
import { type Start, serveCommand, serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';

const rounds = 3;
const setting = { connections: 32, body: '0.4 KB', seconds: 8 } as const;

const inboxBehindExpress: Start = (database, options = {}) =>
  serverFile('floor.ts')(database, { ...options, arguments: ['--express'] });

const servers: readonly { readonly name: string; readonly start: Start; readonly stores: boolean }[] = [
  { name: '(b) Express, stores nothing', start: serverFile('b-express.ts'), stores: false },
  { name: 'the inbox alone behind Express', start: inboxBehindExpress, stores: true },
  { name: '(e) Ringback in Express', start: serverFile('e-mounted.ts'), stores: true },
  { name: 'the inbox alone behind node:http', start: serverFile('floor.ts'), stores: true },
  { name: '(f) ringback serve', start: serveCommand, stores: true },
];

/**
 * How fast the inbox is by itself: whatever a receiver does besides comes on top. Measured in alternation, without a
 * profiler.
 */
export async function floor(): Promise<string[]> {
  const measured = new Map<string, Measured[]>(servers.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, start, stores } of servers) {
      const run = await measure({ ...setting, start, stores });
      measured.get(name)?.push(run);
      progress(`The floor, round ${round}, ${name}: ${Math.round(run.rate)}/s`);
    }
  }
  const rates = servers.map(({ name }) => median((measured.get(name) ?? []).map(({ rate }) => rate)));
  const rows = servers.map(({ name }, index) => [
    name,
    String(Math.round(rates[index] ?? 0)),
    ((rates[index] ?? 0) / (rates[0] ?? 1)).toFixed(2),
    (measured.get(name) ?? []).map(({ problem }) => problem).find((problem) => problem !== undefined) ??
      'yes',
  ]);
  return [
    '## The floor, 32 connections, 0.4 KB',
    '',
    'The inbox alone records, claims, answers and marks done what comes, durably: nothing is verified, read, dispatched or',
    'logged. Medians of 3 rounds of 8 s, in alternation, without a profiler.',
    '',
    ...table(['server', 'deliveries/s', '÷ (b)', 'valid'], rows),
  ];
}
