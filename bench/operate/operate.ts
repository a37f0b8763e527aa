/** What it costs to observe a receiver, by metrics, the page and traces. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Measured, Subject } from '../measure.ts';
import { type Running, type Start, inFolder, serverFile } from '../processes.ts';
import { profileOf } from '../profile/profile.ts';
import { measuredOn, median, progress, publish, table } from '../report.ts';
import { targetTable } from '../targets.ts';
import { Viewer } from './viewer.ts';

const plain = serverFile('e-mounted.ts');

/** The same server without observers, with the page open and metrics read, and with some or all deliveries traced. */
const kinds = {
  alone: plain,
  watched: viewed(withFlag('--operated')),
  sampled: withFlag('--sampled'),
  traced: withFlag('--traced'),
} as const satisfies Record<string, Start>;

type Kind = keyof typeof kinds;

const names = Object.keys(kinds) as Kind[];

/** The least rate of each, as a multiple of the rate without observers. */
const bounds = { watched: 0.97, sampled: 0.9 } as const;
const titles = {
  alone: 'nobody looks',
  watched: 'metrics are read every second, and the page is open',
  sampled: 'spans of one delivery in ten and of its attempts are sent to a collector',
  traced: 'spans of each delivery and attempt are sent to a collector',
} as const;

/** What a kind did in its turns of a round. */
type Turns = readonly Omit<Measured, 'bytesPerEvent'>[];

const turns = 3;

/**
 * Runs the measurement. In each round the servers are started anew and measured in turns: two processes of the same
 * server differ by up to 5 % for as long as they live, and the machine by more from minute to minute. A quick run has
 * one short round, and writes no file.
 */
export async function measureOperated({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const collector = await startCollector();
  const rounds = isQuick ? 1 : 9;
  const seconds = isQuick ? 1 : 4;
  const runs: Record<Kind, Turns[]> = { alone: [], watched: [], sampled: [], traced: [] };
  for (let round = 1; round <= rounds; round += 1) {
    const measured = await inTurns(seconds, isQuick ? 1 : undefined);
    for (const kind of names) {
      progress(`round ${round}, ${titles[kind]}: ${Math.round(rateOf(measured[kind]))}/s`);
      runs[kind].push(measured[kind]);
    }
  }
  const profiles = isQuick ? [] : await profiled(['alone', 'sampled', 'traced']);
  collector.close();
  publish(
    [
      '# What it costs to look',
      '',
      `${machine} ${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} over 32 connections, in each of which new processes took ${turns} turns of ${seconds} s.`,
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
        names.map((kind) => rowOf(runs, kind)),
      ),
      ...profiles,
    ],
    isQuick ? undefined : 'results-operate.md',
  );
}

/** Starts a server of each kind, and measures one after the other, again and again. */
async function inTurns(seconds: number, warmUpSeconds: number | undefined): Promise<Record<Kind, Turns>> {
  return inFolder(async (folder) => {
    const subjects: Partial<Record<Kind, Subject>> = {};
    const measured: Record<Kind, Omit<Measured, 'bytesPerEvent'>[]> = {
      alone: [],
      watched: [],
      sampled: [],
      traced: [],
    };
    try {
      for (const kind of names) {
        const setting = {
          start: kinds[kind],
          stores: true,
          connections: 32,
          body: '0.4 KB',
          seconds,
          ...(warmUpSeconds !== undefined && { warmUpSeconds }),
        } as const;
        const subject = await Subject.start(join(folder, `${kind}.db`), setting);
        subjects[kind] = subject;
        await subject.server.begin();
      }
      for (let turn = 0; turn < turns; turn += 1)
        for (const kind of turn % 2 === 0 ? names : names.toReversed()) {
          const subject = subjects[kind];
          if (!subject) throw new Error(`No server was started: ${kind}`);
          const viewer = kind === 'watched' ? viewerOf(subject.server) : undefined;
          measured[kind].push(await subject.measure(seconds));
          await viewer?.close();
        }
    } finally {
      await Promise.all(Object.values(subjects).map((subject) => subject.end()));
    }
    return measured;
  });
}

/** Profiles of where the time of traces goes. */
async function profiled(asked: readonly Kind[]): Promise<readonly string[]> {
  const lines = ['## Where the time goes', ''];
  for (const kind of asked) {
    const server = { name: titles[kind], start: kinds[kind], stores: true };
    lines.push(...(await profileOf({ server, load: '32 connections', connections: 32 })));
  }
  return lines;
}

function rateOf(measured: Turns): number {
  return measured.reduce((sum, { rate }) => sum + rate, 0) / measured.length;
}

function ratios(runs: Record<Kind, readonly Turns[]>, kind: Kind): readonly number[] {
  return runs[kind].map((measured, round) => rateOf(measured) / rateOf(runs.alone[round] ?? []));
}

function problemOf(runs: Record<Kind, readonly Turns[]>, kind: Kind): string | undefined {
  return [...runs.alone, ...runs[kind]].flat().find(({ problem }) => problem !== undefined)?.problem;
}

function rowOf(runs: Record<Kind, readonly Turns[]>, kind: Kind): readonly string[] {
  const each = runs[kind].flat();
  return [
    titles[kind],
    median(runs[kind].map(rateOf)).toFixed(0),
    median(each.map(({ p50 }) => p50)).toFixed(1),
    median(each.map(({ p99 }) => p99)).toFixed(1),
    Math.max(...each.map(({ stall }) => stall ?? Number.NaN)).toFixed(0),
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

/**
 * Observes the server during its warm-up, too: at the first request for metrics or the page, Node discards the code
 * that it optimized for deliveries alone.
 */
function viewed(start: Start): Start {
  return async (database, options) => {
    const running = await start(database, options);
    const viewer = viewerOf(running);
    const begin = async () => {
      await viewer.close();
      await running.begin();
    };
    return { ...running, begin };
  };
}

function viewerOf({ port }: Running): Viewer {
  return new Viewer(`http://127.0.0.1:${port}`);
}

/** Accepts spans, and drops them. */
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
