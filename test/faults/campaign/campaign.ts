/** Three receivers in processes of their own, one Postgres with a standby, and faults: what came of it is in the history. */
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../../src/sandbox/calls/seeded-random.ts';
import { Balancer } from './balancer.ts';
import { Cluster } from './cluster.ts';
import { type Fault, Faults } from './faults.ts';
import { Fleet } from './fleet.ts';
import { History } from './history.ts';
import { Platform } from './platform.ts';
import { Sender } from './sender.ts';
import { createEffects, effects, schema } from './terms.ts';

export interface CampaignOptions {
  readonly seed: number;
  /** A folder for the history and for what the receivers print. */
  readonly folder: string;
  readonly historyFile: string;
  /** The faults to make: one after the other, or by chance for so many milliseconds. */
  readonly faults: readonly Fault[];
  readonly duration: number | undefined;
  /** How long to wait before the next fault at the most, in milliseconds. */
  readonly maxPause: number;
  /** How long a receiver is suspended, at least and at most, in milliseconds. */
  readonly suspension: readonly [number, number];
  /** How many calls go on at the same time, and how long each pauses between its events at the most, in milliseconds. */
  readonly load: { readonly calls: number; readonly maxPause: number };
  /** Whether the sandbox delivers the events, disturbed by its adversary. */
  readonly isDisturbed: boolean;
  /** How long the work that is left at the end may become no less, in milliseconds. */
  readonly drain: number;
}

const receivers = 3;
/** Further ahead than any receiver's clock has been: what is due for one of them is due for all. */
const clockAtEnd = 5 * 60_000;

export async function runCampaign(options: CampaignOptions): Promise<void> {
  const { seed, folder, isDisturbed, load } = options;
  const history = new History(options.historyFile);
  history.write({ kind: 'begun', seed, startedAt: new Date().toISOString() });
  const started: { cluster?: Cluster; balancer?: Balancer; sender?: Sender | Platform; fleet?: Fleet } = {};
  try {
    const cluster = (started.cluster = await Cluster.start());
    const balancer = (started.balancer = await Balancer.start({
      ports: () => started.fleet?.ports ?? [],
      random: seededRandom(seed, 'balancer'),
      onAskedAgain: (traceId) => history.write({ kind: 'asked again', traceId }),
    }));
    const sending = { url: balancer.url, seed, history, random: seededRandom(seed, 'sender'), ...load };
    const sender = (started.sender = isDisturbed ? await Platform.start(sending) : new Sender(sending));
    const onEnded = (receiver: number, code: number | null) => {
      history.write({ kind: 'ended', receiver, code });
      void fleet.start(receiver, 0);
    };
    const { secret } = sender;
    const connectionString = cluster.url;
    const fleet: Fleet = new Fleet({ connectionString, secret, size: receivers, folder, onEnded });
    started.fleet = fleet;
    await cluster.query(createEffects);
    const places = Array.from({ length: receivers }, (_, place) => place);
    await Promise.all(places.map((place) => fleet.start(place, 0)));
    const sent = sender.run();
    // Whoever waits for the end learns of a failure.
    sent.catch(() => {});
    const made = await makeFaults(options, cluster, fleet, history);
    sender.stop();
    await made.over();
    await sent;
    for (const place of fleet.running) fleet.setClock(place, clockAtEnd);
    await drained(cluster, history, options.drain);
    await dump(cluster, history);
    history.write({ kind: 'over' });
  } finally {
    if (started.sender instanceof Platform) await started.sender.close();
    started.balancer?.close();
    await started.fleet?.close();
    await started.cluster?.close();
    await history.end();
  }
}

async function makeFaults(
  { seed, faults: kinds, duration, maxPause, suspension }: CampaignOptions,
  cluster: Cluster,
  fleet: Fleet,
  history: History,
): Promise<Faults> {
  const random = seededRandom(seed, 'faults');
  const made = new Faults({ cluster, fleet, history, random, kinds, suspension });
  const end = performance.now() + (duration ?? 0);
  const remaining = [...kinds];
  const isOver = () => (duration === undefined ? remaining.length === 0 : performance.now() > end);
  while (!isOver()) {
    await pause(random() * maxPause);
    const fault = duration === undefined ? remaining.shift() : made.next();
    if (fault) await made.make(fault);
  }
  return made;
}

/** What keeps the inbox from being done, by name. */
const undone = `
  select 'waiting events' as what, count(*)::integer as count from ${schema}.waiting
  union all select 'claimed events', count(*)::integer from ${schema}.claims
  union all select 'owned events', count(*)::integer from ${schema}.owned
  union all select 'runs that are ' || state, count(*)::integer from ${schema}.runs
    where state <> 'done' group by state`;

interface Undone {
  readonly what: string;
  readonly count: number;
}

/**
 * Waits until everything is done. If for too long no more of it is, what is left goes into the history. The bound is not
 * on the whole time, which shows nothing: on a busy machine, thousands of events may be left by the faults.
 */
async function drained(cluster: Cluster, history: History, drain: number): Promise<void> {
  let least = Infinity;
  let end = Infinity;
  for (;;) {
    const left = (await cluster.query<Undone>(undone)).filter(({ count }) => count > 0);
    if (left.length === 0) return;
    const total = left.reduce((sum, { count }) => sum + count, 0);
    if (total < least) [least, end] = [total, performance.now() + drain];
    if (performance.now() > end) {
      for (const one of left) history.write({ kind: 'undone', ...one });
      return;
    }
    await pause(250);
  }
}

async function dump(cluster: Cluster, history: History): Promise<void> {
  const stored = await cluster.query<{ traceId: string }>(
    `select trace_id as "traceId" from ${schema}.events`,
  );
  for (const row of stored) history.write({ kind: 'stored', ...row });
  const rows = await cluster.query<{ handler: string; callId: string; traceId: string }>(
    `select handler, call_id as "callId", trace_id as "traceId" from ${effects} order by place`,
  );
  for (const row of rows) history.write({ kind: 'row', ...row });
}
