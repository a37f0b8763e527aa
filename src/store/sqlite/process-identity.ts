import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is, well enough to tell later whether it still runs. Empty is what the system didn't tell it. */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
  readonly pid: number;
  readonly startedAt: string;
}

/** What the kernel says of a process; `unknown` where it can't be asked. */
export type Fate = 'dead' | 'alive' | 'unknown';

/** In place of the PID namespace, on systems that have no namespaces: there, every process can ask about every other. */
const onlyNamespace = 'the only one';

/**
 * Whether the process still runs. All that share a file in WAL mode run on one kernel: an identity from another boot is
 * dead for certain. In another PID namespace (another container) the kernel can't be asked. What one of the two could
 * not read says nothing: a service may be forbidden to see the processes of other users, or parts of /proc.
 */
export function fateOf(other: ProcessIdentity, self: ProcessIdentity): Fate {
  if (other.host !== self.host) return 'unknown';
  if (differ(other.boot, self.boot)) return 'dead';
  if (!agree(other.namespace, self.namespace)) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  // The number may have been given to a new process since.
  const startedAt = startOf(other.pid);
  if (differ(other.startedAt, startedAt)) return 'dead';
  return agree(other.boot, self.boot) && agree(other.startedAt, startedAt) ? 'alive' : 'unknown';
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
    startedAt: startOf(process.pid),
  };
}

/** When a process began, in the kernel's own ticks; empty where the kernel doesn't say. */
function startOf(pid: number): string {
  return orEmpty(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is a name in parentheses that may itself contain blanks: count from behind it.
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
