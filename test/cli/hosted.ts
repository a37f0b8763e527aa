import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromHost, HostedRun, ToHost } from './command-host.ts';
import { CommandOutput } from './command-output.ts';

const script = fileURLToPath(new URL('./command-host.ts', import.meta.url));

/** The processes that run commands and have none at the moment. */
const idle: ChildProcess[] = [];

/** Settled when the last run that was asked for has ended. */
let last: Promise<unknown> = Promise.resolve();

/** How a command ended. */
export interface HostedEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the command to its end, after the others that were asked for before. What hangs until the signal is ended with
 * its process, so that it holds up no other.
 */
export function hosted(run: HostedRun, signal?: AbortSignal): Promise<HostedEnd> {
  const end = last.then(async () => {
    signal?.throwIfAborted();
    const written = new CommandOutput();
    const command = new Hosted(run, written);
    const kill = () => command.kill();
    signal?.addEventListener('abort', kill);
    const code = await command.ended();
    signal?.removeEventListener('abort', kill);
    return { code, stdout: written.stdout, stderr: written.stderr };
  });
  last = end.catch(() => {});
  return end;
}

/** A command in a process that runs others before and after it, one at a time. */
export class Hosted {
  readonly #child: ChildProcess;
  readonly #code: Promise<number>;
  /** Afterwards the process may have another command. */
  #isRunning = true;

  /** @param written Gets what the command writes. */
  constructor(run: HostedRun, written: CommandOutput) {
    const child = idle.pop() ?? startHost(run.env);
    this.#child = child;
    this.#code = new Promise((resolve, reject) => {
      const onExit = () => {
        this.#isRunning = false;
        written.close();
        reject(new Error(`The process ended that ran: ${run.args.join(' ')}`));
      };
      const onMessage = (message: FromHost) => {
        if ('base64' in message) return written.add(message.output, Buffer.from(message.base64, 'base64'));
        this.#isRunning = false;
        child.off('exit', onExit).off('message', onMessage);
        idle.push(child);
        written.close();
        resolve(message.code);
      };
      child.once('exit', onExit).on('message', onMessage);
    });
    this.#code.catch(() => {});
    send(child, { run });
  }

  /** Asks it to stop, as a signal does. */
  stop(): void {
    if (this.#isRunning) send(this.#child, { stop: true });
  }

  /** Ends its process: for a command that may hang, so that it holds up no other. */
  kill(): void {
    if (this.#isRunning) this.#child.kill('SIGKILL');
  }

  /** Resolves to its exit code; rejects if its process ended with it. */
  ended(): Promise<number> {
    return this.#code;
  }
}

function send(child: ChildProcess, message: ToHost): void {
  // Of a process that is just ending, `exit` tells.
  if (child.connected) child.send(message, () => {});
}

/** It ends when this process does. */
function startHost(env: HostedRun['env']): ChildProcess {
  const child = fork(script, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.once('exit', () => {
    const index = idle.indexOf(child);
    if (index >= 0) idle.splice(index, 1);
  });
  child.unref();
  child.channel?.unref();
  return child;
}
