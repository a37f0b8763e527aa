import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process, so that others can find out whether it still runs. Empty: the system didn't tell. */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
  readonly pid: number;
  readonly startedAt: string;
  /** The thread that has the receiver: it can end while its process goes on. */
  readonly thread?: ThreadIdentity | undefined;
}

interface ThreadIdentity {
  /** Its path in /proc. */
  readonly task: string;
  readonly startedAt: string;
}

/** The kernel's answer about a process and its thread; `unknown` if it can't be asked. */
export type ProcessStatus = 'dead' | 'alive' | 'unknown';

/** Stands for the PID namespace on systems without namespaces, where every process can ask about every other. */
const onlyNamespace = 'the only one';

/**
 * Whether the process still runs. All processes that share a file in WAL mode run on one kernel, so one from another
 * boot is certainly dead. The kernel can't be asked about another PID namespace (another container). A field that one
 * of the two could not read proves nothing: a service may be forbidden to see other users' processes, or parts of
 * /proc.
 */
export function statusOf(other: ProcessIdentity, self: ProcessIdentity): ProcessStatus {
  if (other.host !== self.host) return 'unknown';
  if (differ(other.boot, self.boot)) return 'dead';
  if (!agree(other.namespace, self.namespace)) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  // The pid may have been reused.
  const startedAt = startOf(String(other.pid));
  if (differ(other.startedAt, startedAt)) return 'dead';
  if (!agree(other.boot, self.boot) || !agree(other.startedAt, startedAt)) return 'unknown';
  return other.thread && hasEnded(other.thread) ? 'dead' : 'alive';
}

/** Whether a thread has ended. Its process is visible, so a missing thread is gone, not hidden. */
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

/** The identity of this process, as far as the system tells it. */
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

/** When a process or a thread began, in the kernel's ticks; empty if the kernel doesn't say. */
function startOf(task: string): string {
  return orEmpty(() => {
    // In the /proc of another PID namespace, our pids belong to other processes.
    if (readlinkSync('/proc/self') !== String(process.pid)) return '';
    const stat = readFileSync(`/proc/${task}/stat`, 'utf8');
    // The second field is a name in parentheses that may contain spaces: count the fields after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, but its parent has not waited for it yet.
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
