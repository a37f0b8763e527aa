import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { KillableSandbox } from '../../test/sandbox/knowledge/killed-run.ts';

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** `ringback sandbox` in a process of its own. */
export interface SandboxProcess extends KillableSandbox {
  readonly pid: number;
  /** Milliseconds from the start of the process until it listened. */
  readonly startedIn: number;
}

/** Starts the built command on one file and one port, any number of times. The port is 0 or one that was free. */
export function sandboxOn(database: string, port: number): () => Promise<SandboxProcess> {
  let apiKey = '';
  return async () => {
    const startedAt = performance.now();
    const args = [command, 'sandbox', '--database', database, '--port', String(port)];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, RINGBACK_LOG_LEVEL: 'error' },
      // The second start prints that it doesn't show a key.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    const gone = once(child, 'exit').finally(() => process.off('exit', kill));
    const answer = await firstLine(child);
    // Only the first start shows it.
    if (answer.apiKey !== undefined) apiKey = answer.apiKey;
    const end = (signal: NodeJS.Signals) => {
      child.kill(signal);
      return gone;
    };
    return {
      url: answer.url,
      apiKey,
      pid: child.pid ?? 0,
      startedIn: performance.now() - startedAt,
      kill: () => end('SIGKILL'),
      stop: () => end('SIGTERM'),
    };
  };
}

/** The line `listening`, before which only errors are written. Later lines are read, as by a log collector, and dropped. */
async function firstLine({ stdout }: ChildProcess): Promise<{ url: string; apiKey?: string }> {
  if (!stdout) throw new Error('The command has no output to read');
  for await (const line of createInterface({ input: stdout })) {
    const answer = JSON.parse(line) as { event?: string; url?: string; apiKey?: string };
    if (answer.event !== 'listening' || answer.url === undefined) continue;
    stdout.resume();
    return { url: answer.url, ...(answer.apiKey !== undefined && { apiKey: answer.apiKey }) };
  }
  throw new Error('The command ended before it listened');
}

/** The present and the peak memory of a process, in MB. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1_024;
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') };
}

/** The CPU time of a process's main thread, in milliseconds, without the time that it waited for a core. */
export function mainThreadTime(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
