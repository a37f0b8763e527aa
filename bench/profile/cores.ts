/**
 * The CPU time of each thread of a server as the kernel counts it: without a profiler, and including the kernel's work
 * for that thread.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { Client } from 'pg';
import type { Running, Start } from '../processes.ts';

/** How long a thread ran on a core, and how long it waited for one; in microseconds. */
export interface ThreadTime {
  readonly ran: number;
  readonly stoodInLine: number;
}

/** The times of a server's threads while it was measured. */
export interface CoreTimes {
  readonly main: ThreadTime;
  /** The thread that ran longest besides the main thread: the writer thread, in a server that stores. */
  readonly second: ThreadTime;
  /** The garbage collector's helpers, the checkpoint thread and the like. */
  readonly others: ThreadTime;
  /** All processes of the Postgres server that it stores in. */
  readonly database: ThreadTime;
}

/** Whether the system reports these times, as only Linux does. */
const isMeasurable = existsSync('/proc/self/schedstat');

/** The same server, which passes the times of its threads from `begin` to `report` to `onMeasured`. */
export function watchingCores(start: Start, onMeasured: (times: CoreTimes) => void): Start {
  if (!isMeasurable) return start;
  return async (database, options) => {
    const running = await start(database, options);
    const times = async () => ({
      threads: threadTimes(running.pid),
      database: database.startsWith('postgres') ? await serverTimes(database) : none,
    });
    let before = { threads: new Map<string, ThreadTime>(), database: none };
    const watched: Running = {
      ...running,
      begin: async () => {
        await running.begin();
        before = await times();
      },
      report: async () => {
        const after = await times();
        const threads = coreTimes(String(running.pid), before.threads, after.threads);
        onMeasured({ ...threads, database: difference(after.database, before.database) });
        return await running.report();
      },
    };
    return watched;
  };
}

function coreTimes(
  main: string,
  before: ReadonlyMap<string, ThreadTime>,
  after: ReadonlyMap<string, ThreadTime>,
): Omit<CoreTimes, 'database'> {
  const since = (id: string): ThreadTime => difference(after.get(id) ?? none, before.get(id) ?? none);
  const besides = [...after.keys()]
    .filter((id) => id !== main)
    .map(since)
    .toSorted((left, right) => right.ran - left.ran);
  const [second = none, ...others] = besides;
  return { main: since(main), second, others: others.reduce(sum, none) };
}

const none: ThreadTime = { ran: 0, stoodInLine: 0 };

/** Both times together. */
export function sum(left: ThreadTime, right: ThreadTime): ThreadTime {
  return { ran: left.ran + right.ran, stoodInLine: left.stoodInLine + right.stoodInLine };
}

function difference(after: ThreadTime, before: ThreadTime): ThreadTime {
  return { ran: after.ran - before.ran, stoodInLine: after.stoodInLine - before.stoodInLine };
}

/** The times of a Postgres server's processes, each of which is one thread. */
async function serverTimes(address: string): Promise<ThreadTime> {
  const client = new Client({ connectionString: address });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
  await client.end();
  return rows.flatMap(({ pid }) => [...threadTimes(pid).values()]).reduce(sum, none);
}

/** The times of a process's threads by their ids. The id of the main thread is that of the process. */
function threadTimes(pid: number): Map<string, ThreadTime> {
  const times = new Map<string, ThreadTime>();
  for (const id of threadsOf(pid)) {
    try {
      const [ran = 0, stoodInLine = 0] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8')
        .split(' ')
        .map((nanoseconds) => Number(nanoseconds) / 1_000);
      times.set(id, { ran, stoodInLine });
    } catch {
      // The thread has ended since the folder was listed.
    }
  }
  return times;
}

/** The ids of a process's threads; none if it has ended, as one that has just been listed may have. */
function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
