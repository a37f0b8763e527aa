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
const byHand = serverFile('spans.ts');

/**
 * The same server without observers, with the page open and metrics read, and with some or all deliveries traced; and the
 * floor of the last two: a server that stores nothing, and makes no spans or as many by hand.
 */
const kinds = {
  alone: plain,
  watched: viewed(withFlag(plain, '--operated')),
  sampled: withFlag(plain, '--sampled'),
  traced: withFlag(plain, '--traced'),
  bare: byHand,
  bareSampled: withFlag(byHand, '--sampled'),
  bareTraced: withFlag(byHand, '--traced'),
} as const satisfies Record<string, Start>;

type Kind = keyof typeof kinds;

const observed = ['alone', 'watched', 'sampled', 'traced'] as const;
const floor = ['bare', 'bareSampled', 'bareTraced'] as const;

/** The least rate of each, as a multiple of the rate without observers. */
const bounds = { watched: 0.97, sampled: 0.9 } as const;
const titles = {
  alone: 'nobody looks',
  watched: 'metrics are read every second, and the page is open',
  sampled: 'spans of one delivery in ten and of its attempts are sent to a collector',
  traced: 'spans of each delivery and attempt are sent to a collector',
  bare: 'the floor: an Express handler that only answers',
  bareSampled: 'the floor, with the same spans of one request in ten, made by hand',
  bareTraced: 'the floor, with the same spans of each request, made by hand',
} as const satisfies Record<Kind, string>;

/** What a kind did in its turns of a round. */
type Turns = readonly Omit<Measured, 'bytesPerEvent'>[];
/** What kinds did, round by round. */
type Rounds = ReadonlyMap<Kind, readonly Turns[]>;

const turns = 3;
/** Its rates vary less. */
const floorRounds = 3;

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
  const warmUpSeconds = isQuick ? 1 : undefined;
  const runs = await inRounds(observed, rounds, seconds, warmUpSeconds);
  const floorRuns = await inRounds(floor, isQuick ? 1 : floorRounds, seconds, warmUpSeconds);
  const profiles = isQuick ? [] : await profiled(['alone', 'sampled', 'traced']);
  collector.close();
  publish(
    [
      '# What it costs to look',
      '',
      `${machine} ${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} over 32 connections, in each of which new processes took ${turns} turns of ${seconds} s.`,
      'Rates hold on this machine and day only: compare the ratios, which are medians of the rounds too. The CPU is that of all',
      'threads of the server. A receiver keeps its history whether or not anybody looks: it is part of every row but the floor.',
      '',
      ...targetTable(
        (['watched', 'sampled'] as const).map((kind) => ({
          name: titles[kind],
          bound: 'at least' as const,
          value: bounds[kind],
          reached: median(ratios(runs, kind, 'alone')),
          problem: problemOf(runs, kind),
        })),
      ),
      ...table(
        [...columns, '÷ nobody looks, round by round'],
        observed.map((kind) => rowOf(runs, kind, 'alone')),
      ),
      '## What the spans cost by themselves',
      '',
      `Of ${isQuick ? 'one round' : `${floorRounds} rounds`}. The difference of the CPU is that of OpenTelemetry's SDK and its exporter, which no receiver can avoid.`,
      '',
      ...table(
        [...columns, '÷ the floor, round by round'],
        floor.map((kind) => rowOf(floorRuns, kind, 'bare')),
      ),
      ...profiles,
    ],
    isQuick ? undefined : 'results-operate.md',
  );
}

/** Measures in rounds, each of which starts the servers anew. */
async function inRounds(
  names: readonly Kind[],
  rounds: number,
  seconds: number,
  warmUpSeconds: number | undefined,
): Promise<Rounds> {
  const runs = new Map(names.map((kind): [Kind, Turns[]] => [kind, []]));
  for (let round = 1; round <= rounds; round += 1)
    for (const [kind, measured] of await inTurns(names, seconds, warmUpSeconds)) {
      progress(`round ${round}, ${titles[kind]}: ${Math.round(rateOf(measured))}/s`);
      runs.get(kind)?.push(measured);
    }
  return runs;
}

/** Starts a server of each kind, and measures one after the other, again and again. */
async function inTurns(
  names: readonly Kind[],
  seconds: number,
  warmUpSeconds: number | undefined,
): Promise<ReadonlyMap<Kind, Turns>> {
  return inFolder(async (folder) => {
    const subjects = new Map<Kind, Subject>();
    const measured = new Map(names.map((kind): [Kind, Turns[number][]] => [kind, []]));
    try {
      for (const kind of names) {
        const setting = {
          start: kinds[kind],
          stores: (observed as readonly Kind[]).includes(kind),
          connections: 32,
          body: '0.4 KB',
          seconds,
          ...(warmUpSeconds !== undefined && { warmUpSeconds }),
        } as const;
        const subject = await Subject.start(join(folder, `${kind}.db`), setting);
        subjects.set(kind, subject);
        await subject.server.begin();
      }
      for (let turn = 0; turn < turns; turn += 1)
        for (const kind of turn % 2 === 0 ? names : names.toReversed()) {
          const subject = subjects.get(kind);
          if (!subject) throw new Error(`No server was started: ${kind}`);
          const viewer = kind === 'watched' ? viewerOf(subject.server) : undefined;
          measured.get(kind)?.push(await subject.measure(seconds));
          await viewer?.close();
        }
    } finally {
      await Promise.all([...subjects.values()].map((subject) => subject.end()));
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

function ratios(runs: Rounds, kind: Kind, base: Kind): readonly number[] {
  const others = runs.get(base) ?? [];
  return (runs.get(kind) ?? []).map((measured, round) => rateOf(measured) / rateOf(others[round] ?? []));
}

function problemOf(runs: Rounds, kind: Kind): string | undefined {
  const all = [...(runs.get('alone') ?? []), ...(runs.get(kind) ?? [])].flat();
  return all.find(({ problem }) => problem !== undefined)?.problem;
}

const columns = [
  '',
  'deliveries/s',
  'CPU, µs a delivery',
  'p50, ms',
  'p99, ms',
  'longest stall, ms',
] as const;

function rowOf(runs: Rounds, kind: Kind, base: Kind): readonly string[] {
  const rounds = runs.get(kind) ?? [];
  const each = rounds.flat();
  return [
    titles[kind],
    median(rounds.map(rateOf)).toFixed(0),
    median(each.map(({ serverCpu }) => serverCpu ?? Number.NaN)).toFixed(1),
    median(each.map(({ p50 }) => p50)).toFixed(1),
    median(each.map(({ p99 }) => p99)).toFixed(1),
    Math.max(...each.map(({ stall }) => stall ?? Number.NaN)).toFixed(0),
    kind === base
      ? ''
      : ratios(runs, kind, base)
          .map((value) => value.toFixed(2))
          .join(', '),
  ];
}

function withFlag(start: Start, flag: string): Start {
  return (database, options = {}) =>
    start(database, { ...options, arguments: [...(options.arguments ?? []), flag] });
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
