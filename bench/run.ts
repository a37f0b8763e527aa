/**
 * Compares servers that take the same signed deliveries: `npm run bench`, or `npm run bench -- --quick`.
 * bench/README.md says what is measured and when a run is valid.
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as wait } from 'node:timers/promises';
import type { BodyName } from './bodies.ts';
import type { LoadReport } from './load.ts';
import { type Running, runLoad, startCommand, startServer } from './processes.ts';

const isQuick = process.argv.includes('--quick');
const rounds = isQuick ? 1 : 3;
const seconds = isQuick ? 2 : 8;
const settings: { connections: number; body: BodyName }[] = isQuick
  ? [{ connections: 32, body: '0.4 KB' }]
  : [
      { connections: 32, body: '0.4 KB' },
      { connections: 128, body: '0.4 KB' },
      { connections: 32, body: '8 KB' },
    ];
/** More than any server answers in a second. */
const mostPerSecond = { '0.4 KB': 60_000, '8 KB': 15_000 };

const servers: { name: string; start: () => Promise<Running> }[] = [
  { name: '(a) node:http', start: () => startServer('a-node.ts') },
  { name: '(b) Express, stores nothing', start: () => startServer('b-express.ts') },
  { name: '(c) Express, @octokit/webhooks', start: () => startServer('c-octokit.ts') },
  { name: '(d) what a user would write', start: () => startServer('d-handwritten.ts') },
  { name: '(e) Ringback in Express', start: () => startServer('e-mounted.ts') },
  { name: '(f) ringback serve', start: startCommand },
];

interface Measured extends LoadReport {
  readonly stall: number;
  readonly problem: string | undefined;
}

let runs = 0;

async function measure(
  start: () => Promise<Running>,
  connections: number,
  body: BodyName,
): Promise<Measured> {
  runs += 1;
  const server = await start();
  try {
    const order = { port: server.port, connections, body, pace: 0 };
    const warmUp = await runLoad({
      ...order,
      seconds: 1,
      most: mostPerSecond[body],
      run: `w${process.pid}-${runs}`,
    });
    await allDone(server, warmUp.answered);
    await server.report();
    const load = await runLoad({
      ...order,
      seconds,
      most: mostPerSecond[body] * seconds,
      run: `r${process.pid}-${runs}`,
    });
    const { stall } = await server.report();
    const problem =
      load.refused > 0 ? `${load.refused} refused` : await allDone(server, warmUp.answered + load.answered);
    return { ...load, stall, problem };
  } finally {
    server.end();
  }
}

/** Everything answered must be stored, and handled within two seconds; says what isn't. */
async function allDone(server: Running, answered: number): Promise<string | undefined> {
  for (let tries = 0; ; tries += 1) {
    const { stored, done } = await server.report();
    if (stored === -1 || (stored === answered && done === answered)) return undefined;
    if (tries === 20) return `${answered} answered, ${stored} stored, ${done} done`;
    await wait(100);
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const lines = [
  '# Results',
  '',
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${new Date().toISOString().slice(0, 10)}; ` +
    `${rounds} round(s) of ${seconds} s, medians. Rates hold on this machine and day only: compare the ratios.`,
  '',
];
for (const { connections, body } of settings) {
  const results = new Map<string, Measured[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, start } of servers) {
      const measured = await measure(start, connections, body);
      results.set(name, [...(results.get(name) ?? []), measured]);
    }
  }
  const rateOf = (name: string) => median((results.get(name) ?? []).map(({ rate }) => rate));
  const base = rateOf('(b) Express, stores nothing');
  lines.push(`## ${connections} connections, ${body}`, '');
  lines.push("| server | deliveries/s | ÷ (b) | p50 ms | p99 ms | longest stall ms | load's CPU | valid |");
  lines.push('|---|---|---|---|---|---|---|---|');
  for (const [name, measured] of results) {
    const of = (key: 'p50' | 'p99' | 'stall' | 'cpu') => median(measured.map((one) => one[key])).toFixed(2);
    const problems = measured.flatMap(({ problem }) => problem ?? []);
    const valid = problems.length === 0 ? 'yes' : problems.join('; ');
    const rate = rateOf(name);
    lines.push(
      `| ${name} | ${Math.round(rate)} | ${(rate / base).toFixed(2)} | ${of('p50')} | ${of('p99')} | ${of('stall')} | ${of('cpu')} | ${valid} |`,
    );
  }
  lines.push('');
}
const text = lines.join('\n');
process.stdout.write(`${text}\n`);
if (!isQuick) writeFileSync(fileURLToPath(new URL('./results.md', import.meta.url)), text);
