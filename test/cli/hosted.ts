import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HostedEnd, HostedRun } from './command-host.ts';

const script = fileURLToPath(new URL('./command-host.ts', import.meta.url));

/** The process that runs the commands, once there is one. */
let host: ChildProcess | undefined;
/** Settled when the last run that was asked for has ended. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs the command to its end in a process that runs others before and after it, one at a time. What hangs until the
 * signal is ended with its process, so that it holds up no other.
 */
export function hosted(run: HostedRun, signal?: AbortSignal): Promise<HostedEnd> {
  const end = last.then(() => inHost(run, signal));
  last = end.catch(() => {});
  return end;
}

function inHost(run: HostedRun, signal?: AbortSignal): Promise<HostedEnd> {
  const child = (host ??= startHost(run.env));
  return new Promise((resolve, reject) => {
    const kill = () => child.kill('SIGKILL');
    const onExit = () => reject(new Error(`The process ended that ran: ${run.args.join(' ')}`));
    child.once('exit', onExit);
    child.once('message', (end: HostedEnd) => {
      child.off('exit', onExit);
      signal?.removeEventListener('abort', kill);
      resolve(end);
    });
    signal?.addEventListener('abort', kill);
    child.send(run);
  });
}

/** It ends when this process does. */
function startHost(env: HostedRun['env']): ChildProcess {
  const child = fork(script, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.once('exit', () => {
    host = undefined;
  });
  child.unref();
  child.channel?.unref();
  return child;
}
