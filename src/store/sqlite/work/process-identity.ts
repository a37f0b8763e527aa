import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is, well enough to tell later whether it still runs. Empty is what the system didn't tell it. */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
  readonly pid: number;
  readonly startedAt: string;
  /** The thread of the process in which the receiver is: it can end while the process goes on. */
  readonly thread?: ThreadIdentity | undefined;
}

interface ThreadIdentity {
  /** Where it is in /proc. */
  readonly task: string;
  readonly startedAt: string;
}

/** What the kernel says of a process and its thread; `unknown` where it can't be asked. */
export type ProcessStatus = 'dead' | 'alive' | 'unknown';

/** In place of the PID namespace, on systems that have no namespaces: there, every process can ask about every other. */
const onlyNamespace = 'the only one';

/**
 * Whether the process still runs. All that share a file in WAL mode run on one kernel: an identity from another boot is
 * dead for certain. In another PID namespace (another container) the kernel can't be asked. What one of the two could
 * not read says nothing: a service may be forbidden to see the processes of other users, or parts of /proc.
 */
export function statusOf(other: ProcessIdentity, self: ProcessIdentity): ProcessStatus {
  if (other.host !== self.host) return 'unknown';
  if (differ(other.boot, self.boot)) return 'dead';
  if (!agree(other.namespace, self.namespace)) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  // The number may have been given to a new process since.
  const startedAt = startOf(String(other.pid));
  if (differ(other.startedAt, startedAt)) return 'dead';
  if (!agree(other.boot, self.boot) || !agree(other.startedAt, startedAt)) return 'unknown';
  return other.thread && hasEnded(other.thread) ? 'dead' : 'alive';
}

/** Whether a thread has ended. Its process can be seen, so a thread that isn't there is gone and not hidden. */
function hasEnded({ task, startedAt }: ThreadIdentity): boolean {
  const found = startOf(task);
  return found === '' ? isGone(`/proc/${task}`) : found !== startedAt;
}

function isGone(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function agree(one: string, other: string): boolean {
  return one === other && one !== '';
}

function differ(one: string, other: string): boolean {
  return one !== other && one !== '' && other !== '';
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Who this process is, as far as the system tells it. */
export function ownIdentity(): ProcessIdentity {
  return {
    host: hostname(),
    boot: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    namespace:
      process.platform === 'linux' ? orEmpty(() => readlinkSync('/proc/self/ns/pid')) : onlyNamespace,
    pid: process.pid,
    startedAt: startOf(String(process.pid)),
    thread: ownThread(),
  };
}

function ownThread(): ThreadIdentity | undefined {
  const task = orEmpty(() => readlinkSync('/proc/thread-self'));
  const startedAt = task === '' ? '' : startOf(task);
  return startedAt === '' ? undefined : { task, startedAt };
}

/** When a process or a thread began, in the kernel's own ticks; empty where the kernel doesn't say. */
function startOf(task: string): string {
  return orEmpty(() => {
    // A /proc of another PID namespace has other processes under our numbers.
    if (readlinkSync('/proc/self') !== String(process.pid)) return '';
    const stat = readFileSync(`/proc/${task}/stat`, 'utf8');
    // The second field is a name in parentheses that may itself contain blanks: count the fields after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended; only its parent has not asked yet.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '');
  });
}

function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
