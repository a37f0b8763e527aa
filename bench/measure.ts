import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Backend, Counter } from './backend.ts';
import type { BodyName } from './load/bodies.ts';
import type { LoadOrder, LoadReport } from './load/order.ts';
import { Load, type Running, type Start, inFolder } from './processes.ts';
import { Rows, bytesPerEvent } from './rows.ts';
import type { Lag } from './servers/common.ts';

/** What to measure in one run. */
export interface Setting {
  readonly start: Start;
  readonly stores: boolean;
  readonly connections: number;
  readonly body: BodyName;
  readonly seconds: number;
  /** How long to warm the server up, instead of until its code is compiled. */
  readonly warmUpSeconds?: number;
  /** Deliveries per second; by default, as fast as answers come. */
  readonly pace?: number;
  /** Whether to measure how long after the answer an event's handler begins. */
  readonly watches?: boolean;
  /** An existing database, which is kept; by default a new one is created and removed. */
  readonly database?: string;
  /** Starts the database server that the server stores in, unless it stores in a file. */
  readonly backend?: () => Promise<Backend>;
}

/** The result of a run. */
export interface Measured extends LoadReport {
  /** In milliseconds; undefined for a server that can't be asked. */
  readonly stall: number | undefined;
  /** The CPU time of the server, in microseconds per delivery; undefined for a server that can't be asked. */
  readonly serverCpu: number | undefined;
  readonly lag: Lag | undefined;
  readonly bytesPerEvent: number | undefined;
  /** Why the run is not valid. */
  readonly problem: string | undefined;
}

/**
 * After how many deliveries a server is warm. After some 14,000, Node recompiles the busiest functions, all at once and
 * on all cores, as it has already done in a long-lived receiver.
 */
export const warmDeliveries = 40_000;
/** The minimum and maximum time of a warm-up, in seconds. */
const shortestWarmUp = 3;
export const maxWarmUp = 10;
/** The least connections of a warm-up: with one it would take a minute. */
const warmUpConnections = 32;

/** How long after the load all events may take to be handled and marked done, in milliseconds. */
const handledWithin = 2_000;
/** How many deliveries to prepare for each second of a short warm-up, which ends early if the server takes more. */
const shortWarmUp = 20_000;
/** By which factor a server may be faster than in its warm-up before the prepared deliveries run out. */
const headroom = 2.5;
/** The least deliveries per second to prepare: a disk that was slow in the warm-up may be fast a second later. */
const leastPrepared = 8_000;

/** Starts a server, warms it up, measures it, checks that the run counts, and ends it. */
export function measure(setting: Setting): Promise<Measured> {
  // The disk must not still be busy with the last server's writes and the removal of its files.
  spawnSync('sync');
  if (setting.backend) return measureIn(setting.backend, setting);
  if (setting.database !== undefined) return measureOn(setting.database, setting);
  return inFolder((folder) => measureOn(join(folder, 'inbox.db'), setting));
}

async function measureIn(start: () => Promise<Backend>, setting: Setting): Promise<Measured> {
  const backend = await start();
  try {
    return await measureOn(backend.address, setting, backend.counter);
  } finally {
    await backend.close();
  }
}

async function measureOn(
  database: string,
  setting: Setting,
  counter: () => Counter | Promise<Counter> = () => new Rows(database),
): Promise<Measured> {
  const subject = await Subject.start(database, setting, counter);
  try {
    const measured = await subject.measure(setting.seconds);
    await subject.end();
    const isOwn = setting.stores && setting.database === undefined && !setting.backend;
    return { ...measured, bytesPerEvent: isOwn ? bytesPerEvent(database) : undefined };
  } finally {
    await subject.end();
  }
}

/** A server that was started and warmed up with a load of its own, and can be measured again and again. */
export class Subject {
  readonly server: Running;
  readonly #load: Load;
  readonly #rows: Counter | undefined;
  readonly #order: Pick<LoadOrder, 'port' | 'connections' | 'body'>;
  readonly #pace: number;
  #maxRate = 0;
  #ended: Promise<unknown> | undefined;

  private constructor(server: Running, load: Load, rows: Counter | undefined, setting: Setting) {
    const { connections, body, pace = 0 } = setting;
    this.server = server;
    this.#load = load;
    this.#rows = rows;
    this.#order = { port: server.port, connections, body };
    this.#pace = pace;
  }

  static async start(
    database: string,
    setting: Setting,
    counter: () => Counter | Promise<Counter> = () => new Rows(database),
  ): Promise<Subject> {
    const server = await setting.start(database, { arguments: setting.watches ? ['--watch'] : [] });
    const load = new Load();
    try {
      const subject = new Subject(server, load, setting.stores ? await counter() : undefined, setting);
      await subject.#warmUp(setting.warmUpSeconds);
      return subject;
    } catch (error) {
      await Promise.all([load.end(), server.end()]);
      throw error;
    }
  }

  async #warmUp(seconds: number | undefined): Promise<void> {
    const before = (await this.#rows?.last()) ?? 0;
    const warmUp = await warmedUp(this.#load, this.#order, seconds);
    await settled(this.#rows, before, warmUp.accepted);
    this.#maxRate = this.#pace > 0 ? this.#pace : Math.max(leastPrepared, warmUp.rate * headroom);
  }

  /** Sends deliveries for this many seconds, and waits until they are handled. */
  async measure(seconds: number): Promise<Omit<Measured, 'bytesPerEvent'>> {
    const since = (await this.#rows?.last()) ?? 0;
    await this.server.begin();
    const max = Math.ceil(this.#maxRate * seconds);
    const report = await this.#load.run({ ...this.#order, seconds, max, pace: this.#pace });
    const answer = await this.server.report();
    const problem = problemOf(report) ?? (await settled(this.#rows, since, report.accepted, this.server));
    const serverCpu = answer && answer.cpu / report.answered;
    return { ...report, stall: answer?.stall, serverCpu, lag: answer?.lag, problem };
  }

  end(): Promise<unknown> {
    this.#ended ??= Promise.all([this.#rows?.close(), this.#load.end(), this.server.end()]);
    return this.#ended;
  }
}

/**
 * Warms a server up, and reports its rate at the end and how many deliveries it has accepted. It begins with no more
 * deliveries than are needed in any case, because preparing them takes a slow machine longer than sending them.
 */
async function warmedUp(
  load: Load,
  order: Pick<LoadOrder, 'port' | 'connections' | 'body'>,
  wanted: number | undefined,
): Promise<Pick<LoadReport, 'rate' | 'accepted'>> {
  const connections = Math.max(order.connections, warmUpConnections);
  const run = (seconds: number, max: number) =>
    load.run({ ...order, connections, seconds, max: Math.ceil(max), pace: 0 });

  if (wanted !== undefined) return run(wanted, shortWarmUp * wanted);
  const begun = await run(shortestWarmUp, warmDeliveries);
  const left = warmDeliveries - begun.answered;
  const elapsed = (begun.endedAt - begun.startedAt) / 1_000;
  const secondsLeft = (left > 0 ? maxWarmUp : shortestWarmUp) - elapsed;
  if (secondsLeft <= 0) return begun;
  const rest = await run(secondsLeft, left > 0 ? left : begun.rate * headroom * secondsLeft);
  return { rate: Math.max(begun.rate, rest.rate), accepted: begun.accepted + rest.accepted };
}

function problemOf({ answered, accepted, broken, ranOut }: LoadReport): string | undefined {
  if (accepted < answered) return `${answered - accepted} refused`;
  if (broken > 0) return `${broken} not answered`;
  return ranOut ? 'the load ran out of deliveries' : undefined;
}

/**
 * Waits until everything accepted is stored, handled and marked done, and returns what isn't in time. Call `begin` of
 * the server before these deliveries, so that it counts only their handlers.
 */
export async function settled(
  rows: Counter | undefined,
  since: number,
  accepted: number,
  server?: Pick<Running, 'handled'>,
): Promise<string | undefined> {
  if (!rows) return undefined;
  const deadline = performance.now() + handledWithin;
  let open = await rows.open();
  while (open > 0 && performance.now() < deadline) {
    await wait(20);
    open = await rows.open();
  }
  const stored = await rows.storedSince(since);
  if (stored !== accepted) return `${accepted} answered, ${stored} stored`;
  if (open > 0) return `${open} not done ${handledWithin / 1_000} s after the load`;
  const handled = await server?.handled();
  return handled !== undefined && handled < accepted ? `${accepted} answered, ${handled} handled` : undefined;
}
