import { settled } from '../measure.ts';
import { Load, type Running, littleMemory, serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';
import { Rows } from '../rows.ts';
import type { Target } from '../targets.ts';
import type { Part } from './part.ts';

/** Parts of the filling after each of which is looked at what the server has become. */
const looks = 40;
/** How many looks around a number of events make up the memory at it: the collector's turns move each of them. */
const looksAround = 2;
/** Memory may differ by so much from one time to the next without having grown, in megabytes. */
const memoryNoise = 10;

/** The server after one part of the filling. */
interface Look {
  readonly events: number;
  readonly rate: number;
  readonly memory: number;
  readonly stall: number;
  readonly problem: string | undefined;
}

/** Fills an inbox with events that are handled and done. */
export async function fill(database: string, events: number): Promise<Part> {
  const server = await serverFile('e-mounted.ts')(database, { nodeFlags: littleMemory });
  const load = new Load();
  const rows = new Rows(database);
  const found: Look[] = [];
  try {
    for (let stored = 0; stored < events; stored += Math.ceil(events / looks)) {
      const look = await fillSome(server, load, rows, Math.min(Math.ceil(events / looks), events - stored));
      found.push(look);
      const { rate, memory, stall, problem = '' } = look;
      progress(
        `${look.events} events, ${Math.round(rate)}/s, ${Math.round(memory)} MB, stall ${stall.toFixed(1)} ms ${problem}`,
      );
    }
  } finally {
    rows.close();
    await Promise.all([load.end(), server.end()]);
  }
  return { targets: memoryTargets(found, events), lines: ['## While it filled', '', ...lookTable(found)] };
}

async function fillSome(server: Running, load: Load, rows: Rows, count: number): Promise<Look> {
  const before = rows.last();
  await server.begin();
  const order = { port: server.port, connections: 32, body: '0.4 KB', pace: 0 } as const;
  const { rate, accepted } = await load.run({ ...order, seconds: 3_600, most: count });
  const told = await server.report();
  const problem = accepted < count ? `${count - accepted} refused` : await settled(rows, before, accepted);
  return { events: rows.last(), rate, memory: told?.memory ?? 0, stall: told?.stall ?? 0, problem };
}

/** After half of the events, and what it has grown since a tenth of them: 5 and 1 million as a rule. */
function memoryTargets(found: readonly Look[], events: number): Target[] {
  const memoryAt = (part: number) => {
    const place = Math.round(found.length * part) - 1;
    return median(
      found.slice(Math.max(0, place - looksAround), place + looksAround + 1).map(({ memory }) => memory),
    );
  };
  const half = memoryAt(0.5);
  const problem = found.flatMap((look) => look.problem ?? [])[0];
  return [
    {
      name: `RSS after ${events / 2} events`,
      bound: 'at most',
      value: 200,
      unit: 'MB',
      reached: half,
      problem,
    },
    {
      name: `growth of the RSS over the last ${events * 0.4} of them`,
      bound: 'at most',
      value: memoryNoise,
      unit: 'MB',
      reached: half - memoryAt(0.1),
      problem,
    },
    {
      name: 'longest stall of the event loop while it filled',
      bound: 'at most',
      value: 20,
      unit: 'ms',
      reached: Math.max(...found.map(({ stall }) => stall)),
    },
  ];
}

function lookTable(found: readonly Look[]): string[] {
  const rows = found.map(({ events, rate, memory, stall, problem }) => [
    String(events),
    String(Math.round(rate)),
    memory.toFixed(0),
    stall.toFixed(1),
    problem ?? 'yes',
  ]);
  return table(['events', 'deliveries/s', 'RSS MB', 'longest stall ms', 'valid'], rows);
}
