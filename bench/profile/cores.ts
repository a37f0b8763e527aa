/**
 * How much of the cores each thread of a server takes, as the kernel counts it: without a profiler, and including the
 * kernel's work for that thread.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Running, Start } from '../processes.ts';

/** How long a thread ran on a core, and how long it waited for one; in microseconds. */
export interface ThreadTime {
  readonly ran: number;
  readonly stoodInLine: number;
}

/** The times of a server's threads while it was measured. */
export interface CoreTimes {
  readonly main: ThreadTime;
  /** The thread that ran longest besides the main thread: the commit thread, in a server that stores. */
  readonly second: ThreadTime;
  /** The garbage collector's helpers, the checkpoint thread and the like. */
  readonly others: ThreadTime;
}

/** Whether the system reports these times, as only Linux does. */
const isTold = existsSync('/proc/self/schedstat');

/** The same server, which passes the times of its threads from `begin` to `report` to `onMeasured`. */
export function watchingCores(start: Start, onMeasured: (times: CoreTimes) => void): Start {
  if (!isTold) return start;
  return async (database, options) => {
    const running = await start(database, options);
    let before = new Map<string, ThreadTime>();
    const watched: Running = {
      ...running,
      begin: async () => {
        await running.begin();
        before = threadTimes(running.pid);
      },
      report: async () => {
        onMeasured(coreTimes(String(running.pid), before, threadTimes(running.pid)));
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
): CoreTimes {
  const since = (id: string): ThreadTime => {
    const { ran, stoodInLine } = after.get(id) ?? none;
    const earlier = before.get(id) ?? none;
    return { ran: ran - earlier.ran, stoodInLine: stoodInLine - earlier.stoodInLine };
  };
  const besides = [...after.keys()]
    .filter((id) => id !== main)
    .map(since)
    .toSorted((left, right) => right.ran - left.ran);
  const [second = none, ...others] = besides;
  return { main: since(main), second, others: others.reduce(sum, none) };
}

const none: ThreadTime = { ran: 0, stoodInLine: 0 };

function sum(left: ThreadTime, right: ThreadTime): ThreadTime {
  return { ran: left.ran + right.ran, stoodInLine: left.stoodInLine + right.stoodInLine };
}

/** The times of a process's threads by their ids. The id of the main thread is that of the process. */
function threadTimes(pid: number): Map<string, ThreadTime> {
  const folder = `/proc/${pid}/task`;
  const times = new Map<string, ThreadTime>();
  for (const id of readdirSync(folder)) {
    try {
      const [ran = 0, stoodInLine = 0] = readFileSync(join(folder, id, 'schedstat'), 'utf8')
        .split(' ')
        .map((nanoseconds) => Number(nanoseconds) / 1_000);
      times.set(id, { ran, stoodInLine });
    } catch {
      // The thread has ended since the folder was listed.
    }
  }
  return times;
}
