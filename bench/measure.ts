import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BodyName } from './load/bodies.ts';
import type { LoadReport } from './load/order.ts';
import { Load, type Running, type Start, inFolder } from './processes.ts';
import { Rows, bytesPerEvent } from './rows.ts';
import type { Lag } from './servers/common.ts';

/** What one run is to measure. */
export interface Setting {
  readonly start: Start;
  readonly stores: boolean;
  readonly connections: number;
  readonly body: BodyName;
  readonly seconds: number;
  /** Until the server's code is compiled, as it is for all but the first deliveries of a process; default 3. */
  readonly warmUpSeconds?: number;
  /** Deliveries a second; as fast as answers come by default. */
  readonly pace?: number;
  /** Whether to note how long after its answer an event's handler begins. */
  readonly watches?: boolean;
  /** A database that is there already, and stays; by default a new one is made and thrown away. */
  readonly database?: string;
}

/** What came of it. */
export interface Measured extends LoadReport {
  /** In milliseconds; undefined where the server can't be asked. */
  readonly stall: number | undefined;
  readonly lag: Lag | undefined;
  readonly bytesPerEvent: number | undefined;
  /** Why the run doesn't count. */
  readonly problem: string | undefined;
}

/** How long everything may take to be handled and marked done once the load has ended, in milliseconds. */
const handledWithin = 2_000;
/** What any server can be expected to answer in a second at the most, for the first order. */
const mostInASecond: Record<BodyName, number> = { '0.4 KB': 60_000, '8 KB': 20_000 };
/** How much faster than while it warmed up a server may become before the prepared deliveries run out. */
const headroom = 2.5;
/** A disk that was slow while it warmed up may be fast a second later. */
const leastPrepared = 8_000;

/** Starts a server, warms it up, measures it, checks that the run counts, and ends it. */
export function measure(setting: Setting): Promise<Measured> {
  // The disk must not be busy with what the last server wrote, and with what was thrown away after it.
  spawnSync('sync');
  if (setting.database !== undefined) return measureOn(setting.database, setting);
  return inFolder((folder) => measureOn(join(folder, 'inbox.db'), setting));
}

async function measureOn(database: string, setting: Setting): Promise<Measured> {
  const server = await setting.start(database, { arguments: setting.watches ? ['--watch'] : [] });
  const load = new Load();
  try {
    const measured = await underLoad(server, load, database, setting);
    await server.end();
    const isOwn = setting.stores && setting.database === undefined;
    return { ...measured, bytesPerEvent: isOwn ? bytesPerEvent(database) : undefined };
  } finally {
    await Promise.all([load.end(), server.end()]);
  }
}

async function underLoad(
  server: Running,
  load: Load,
  database: string,
  { stores, connections, body, seconds, warmUpSeconds = 3, pace = 0 }: Setting,
): Promise<Omit<Measured, 'bytesPerEvent'>> {
  const rows = stores ? new Rows(database) : undefined;
  try {
    const before = rows?.last() ?? 0;
    const order = { port: server.port, connections, body };
    const warmUp = await load.run({
      ...order,
      seconds: warmUpSeconds,
      most: Math.ceil(mostInASecond[body] * warmUpSeconds),
      pace: 0,
    });
    await settled(rows, before, warmUp.accepted);
    const since = rows?.last() ?? 0;
    await server.begin();
    const mostRate = pace > 0 ? pace : Math.max(leastPrepared, warmUp.rate * headroom);
    const report = await load.run({ ...order, seconds, most: Math.ceil(mostRate * seconds), pace });
    const told = await server.report();
    const problem = problemOf(report) ?? (await settled(rows, since, report.accepted));
    return { ...report, stall: told?.stall, lag: told?.lag, problem };
  } finally {
    rows?.close();
  }
}

function problemOf({ answered, accepted, broken, ranOut }: LoadReport): string | undefined {
  if (accepted < answered) return `${answered - accepted} refused`;
  if (broken > 0) return `${broken} not answered`;
  return ranOut ? 'the load ran out of deliveries' : undefined;
}

/** Everything answered must be stored, and handled and marked done in time; says what isn't. */
export async function settled(
  rows: Rows | undefined,
  since: number,
  accepted: number,
): Promise<string | undefined> {
  if (!rows) return undefined;
  const deadline = performance.now() + handledWithin;
  let open = rows.open();
  while (open > 0 && performance.now() < deadline) {
    await wait(20);
    open = rows.open();
  }
  const stored = rows.storedSince(since);
  if (stored !== accepted) return `${accepted} answered, ${stored} stored`;
  return open > 0 ? `${open} not done ${handledWithin / 1_000} s after the load` : undefined;
}
