/** How much of the cores a server takes, thread by thread, as the kernel counts it: without a profiler, and its own work included. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Running, Start } from '../processes.ts';

/** What a thread has had of a core, and how long it stood in line for one; in microseconds. */
export interface ThreadTime {
  readonly ran: number;
  readonly stoodInLine: number;
}

/** What a server's threads have had while it was measured. */
export interface CoreTimes {
  readonly main: ThreadTime;
  /** The one that ran longest besides: of a server that stores, the commit thread. */
  readonly second: ThreadTime;
  /** The garbage collector's helpers, the checkpoint thread and the like. */
  readonly others: ThreadTime;
}

/** Only Linux tells. */
const isTold = existsSync('/proc/self/schedstat');

/** The same server; what its threads have had from `begin` to `report` is handed to `onMeasured`. */
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

/** The threads of a process by their id; that of the main thread is the process's own. */
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
      // It has ended since the folder was listed.
    }
  }
  return times;
}
