import { settled } from '../measure.ts';
import { Load, type Running, type StartOptions, littleMemory, serverFile } from '../processes.ts';
import { progress, table } from '../report.ts';
import { Rows } from '../rows.ts';

/** How many parts the filling has. After each, the server's figures are recorded. */
const looks = 40;
/** The server after one part of the filling. */
export interface Look {
  readonly events: number;
  readonly rate: number;
  readonly memory: number;
  readonly stall: number;
  readonly problem: string | undefined;
}

/** Fills an inbox with events that are handled and done. */
export async function fill(
  database: string,
  events: number,
  options: StartOptions = littleMemory,
): Promise<readonly Look[]> {
  const server = await serverFile('e-mounted.ts')(database, options);
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
  return found;
}

async function fillSome(server: Running, load: Load, rows: Rows, count: number): Promise<Look> {
  const before = rows.last();
  await server.begin();
  const order = { port: server.port, connections: 32, body: '0.4 KB', pace: 0 } as const;
  const { rate, accepted } = await load.run({ ...order, seconds: 3_600, max: count });
  const report = await server.report();
  const problem =
    accepted < count ? `${count - accepted} refused` : await settled(rows, before, accepted, server);
  return { events: rows.last(), rate, memory: report?.memory ?? 0, stall: report?.stall ?? 0, problem };
}

/** The server's figures while its inbox filled. */
export function lookTable(found: readonly Look[]): string[] {
  const rows = found.map(({ events, rate, memory, stall, problem }) => [
    String(events),
    String(Math.round(rate)),
    memory.toFixed(0),
    stall.toFixed(1),
    problem ?? 'yes',
  ]);
  const lines = table(['events', 'deliveries/s', 'RSS MB', 'longest stall ms', 'valid'], rows);
  return ['## While it filled', '', ...lines];
}
