/** What it costs to look at a receiver: metrics that are read and a page that is open, and traces. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Measured, measure } from '../measure.ts';
import { type Running, type Start, serverFile } from '../processes.ts';
import { profileOf } from '../profile/profile.ts';
import { measuredOn, median, progress, publish, table } from '../report.ts';
import { targetTable } from '../targets.ts';
import { Viewer } from './viewer.ts';

const plain = serverFile('e-mounted.ts');

/** The same server as nobody looks at it, with a page open and metrics read, and with traces of a part or of all. */
const kinds = {
  alone: plain,
  watched: viewed(withFlag('--operated')),
  sampled: withFlag('--sampled'),
  traced: withFlag('--traced'),
} as const satisfies Record<string, Start>;

type Kind = keyof typeof kinds;

/** At the least, how many times as many deliveries each is to answer as the one at which nobody looks. */
const bounds = { watched: 0.97, sampled: 0.9 } as const;
const titles = {
  alone: 'nobody looks',
  watched: 'metrics are read every second, and the page is open',
  sampled: 'spans of one delivery in ten and of its attempts are sent to a collector',
  traced: 'spans of each delivery and attempt are sent to a collector',
} as const;

/** Runs the measurement. The quick one has one short round, and writes no file. */
export async function measureOperated({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const collector = await startCollector();
  const rounds = isQuick ? 1 : 5;
  const seconds = isQuick ? 2 : 8;
  const runs: Record<Kind, Measured[]> = { alone: [], watched: [], sampled: [], traced: [] };
  for (let round = 1; round <= rounds; round += 1)
    for (const kind of Object.keys(kinds) as Kind[]) {
      const measured = await measure({
        start: kinds[kind],
        stores: true,
        connections: 32,
        body: '0.4 KB',
        seconds,
        ...(isQuick && { warmUpSeconds: 1 }),
      });
      progress(`round ${round}, ${titles[kind]}: ${Math.round(measured.rate)}/s`);
      runs[kind].push(measured);
    }
  const profiles = isQuick ? [] : await profiled(['alone', 'sampled', 'traced']);
  collector.close();
  publish(
    [
      '# What it costs to look',
      '',
      `${machine} ${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s over 32 connections.`,
      'Rates hold on this machine and day only: compare the ratios, which are medians of the rounds too.',
      '',
      ...targetTable(
        Object.entries(bounds).map(([kind, value]) => ({
          name: titles[kind as Kind],
          bound: 'at least' as const,
          value,
          reached: median(ratios(runs, kind as Kind)),
          problem: problemOf(runs, kind as Kind),
        })),
      ),
      ...table(
        ['', 'deliveries/s', 'p50, ms', 'p99, ms', 'longest stall, ms', '÷ nobody looks, round by round'],
        (Object.keys(kinds) as Kind[]).map((kind) => rowOf(runs, kind)),
      ),
      ...profiles,
    ],
    isQuick ? undefined : 'results-operate.md',
  );
}

/** Where the time goes that traces take. */
async function profiled(asked: readonly Kind[]): Promise<readonly string[]> {
  const lines = ['## Where the time goes', ''];
  for (const kind of asked) {
    const server = { name: titles[kind], start: kinds[kind], stores: true };
    lines.push(...(await profileOf({ server, load: '32 connections', connections: 32 })));
  }
  return lines;
}

function ratios(runs: Record<Kind, readonly Measured[]>, kind: Kind): readonly number[] {
  return runs[kind].map(({ rate }, round) => rate / (runs.alone[round]?.rate ?? Number.NaN));
}

function problemOf(runs: Record<Kind, readonly Measured[]>, kind: Kind): string | undefined {
  return [...runs.alone, ...runs[kind]].find(({ problem }) => problem !== undefined)?.problem;
}

function rowOf(runs: Record<Kind, readonly Measured[]>, kind: Kind): readonly string[] {
  const of = (key: 'rate' | 'p50' | 'p99') => median(runs[kind].map((run) => run[key]));
  return [
    titles[kind],
    String(Math.round(of('rate'))),
    of('p50').toFixed(1),
    of('p99').toFixed(1),
    Math.max(...runs[kind].map(({ stall }) => stall ?? Number.NaN)).toFixed(0),
    kind === 'alone'
      ? ''
      : ratios(runs, kind)
          .map((value) => value.toFixed(2))
          .join(', '),
  ];
}

function withFlag(flag: string): Start {
  return (database, options = {}) =>
    plain(database, { ...options, arguments: [...(options.arguments ?? []), flag] });
}

/** Looks at the server as long as it runs. */
function viewed(start: Start): Start {
  return async (database, options): Promise<Running> => {
    const running = await start(database, options);
    const viewer = new Viewer(`http://127.0.0.1:${running.port}`);
    const end = async () => {
      await viewer.close();
      await running.end();
    };
    return { ...running, end };
  };
}

/** Takes spans, and forgets them. */
async function startCollector(): Promise<{ close(): void }> {
  const server = createServer((request, response) => {
    request
      .resume()
      .once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  process.env['BENCH_COLLECTOR'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  return { close: () => server.closeAllConnections() ?? server.close() };
}
