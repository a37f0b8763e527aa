import { servers as compared } from '../compare/servers.ts';
import { type Measured, measure } from '../measure.ts';
import { type Start, serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';

const rounds = 3;
const setting = { connections: 32, body: '0.4 KB', seconds: 8 } as const;

const inboxBehindExpress: Start = (database, options = {}) =>
  serverFile('floor.ts')(database, { ...options, arguments: ['--express'] });

const servers = [
  compared.b,
  { name: 'the inbox alone behind Express', start: inboxBehindExpress, stores: true },
  compared.e,
  { name: 'the inbox alone behind node:http', start: serverFile('floor.ts'), stores: true },
  compared.f,
];

/**
 * How fast the inbox is by itself: whatever a receiver does besides comes on top. Measured in alternation, without a
 * profiler.
 */
export async function floor(): Promise<string[]> {
  const measured = servers.map(({ name }): { name: string; runs: Measured[] } => ({ name, runs: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { name, start, stores }] of servers.entries()) {
      const run = await measure({ ...setting, start, stores });
      measured[index]?.runs.push(run);
      progress(`The floor, round ${round}, ${name}: ${Math.round(run.rate)}/s`);
    }
  }
  const rates = measured.map(({ runs }) => median(runs.map(({ rate }) => rate)));
  const [ofB = Number.NaN] = rates;
  const rows = measured.map(({ name, runs }, index) => {
    const rate = rates[index] ?? Number.NaN;
    const problem = runs.find((run) => run.problem !== undefined)?.problem;
    return [name, String(Math.round(rate)), (rate / ofB).toFixed(2), problem ?? 'yes'];
  });
  return [
    '## The floor, 32 connections, 0.4 KB',
    '',
    'The inbox alone records, claims, answers and marks done what comes, durably: nothing is verified, read, dispatched or',
    'logged. Medians of 3 rounds of 8 s, in alternation, without a profiler.',
    '',
    ...table(['server', 'deliveries/s', '÷ (b)', 'valid'], rows),
  ];
}
