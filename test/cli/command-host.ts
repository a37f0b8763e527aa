/**
 * Runs the command as often as it is asked to, in one process: to start a process for each costs more than all that most
 * of them do. Every run gets an environment, a folder, streams and a console of its own, and nothing that it listens to
 * is kept for the next. What only a process of its own can show is tested with one: signals, pipes, the end.
 */
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import '../support/writer-threads.ts';
import { run } from '../../src/cli/program.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { clockWithoutWriteTimeout } from '../support/clock-without-write-timeout.ts';
import type { OutputName } from './command-output.ts';

/** What to run, and where. */
export interface HostedRun {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How wide the terminal is that stdout is; by default, it is a pipe. */
  readonly terminal?: number;
}

/** What the process is told: to run a command, or to stop it as a signal does. */
export type ToHost = { readonly run: HostedRun } | { readonly stop: true };
/** What it tells: what the command has written, and at last its exit code. */
export type FromHost = { readonly output: OutputName; readonly base64: string } | { readonly code: number };

// No command takes a clock.
Object.assign(systemClock, clockWithoutWriteTimeout);

process.on('message', (message: ToHost) => {
  if ('run' in message) void runOnce(message.run).then((code) => send({ code }));
  else process.emit('SIGTERM', 'SIGTERM');
});
process.on('disconnect', () => process.exit());
process.on('warning', ({ name, message }) => process.stderr.write(`${name}: ${message}\n`));

async function runOnce({ args, env, cwd, terminal }: HostedRun): Promise<number> {
  setEnvironment(env);
  process.chdir(cwd);
  const stdout = new Output('stdout');
  const stderr = new Output('stderr');
  if (terminal !== undefined) Object.assign(stdout, { isTTY: true, columns: terminal });
  Object.defineProperty(process, 'stdout', { value: stdout, configurable: true });
  Object.defineProperty(process, 'stderr', { value: stderr, configurable: true });
  Object.assign(console, new Console(stdout, stderr));
  const code = await run(args);
  for (const output of [stdout, stderr]) output.isOver = true;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']) process.removeAllListeners(signal);
  // The folder may be removed as soon as the run has ended.
  process.chdir('/');
  return code;
}

/** Changes the environment in place, because Node notices a change of `TZ` only so. */
function setEnvironment(env: HostedRun['env']): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  Object.assign(process.env, env);
}

/** A stream that tells what is written to it. */
class Output extends Writable {
  /** Its own, as if it had been replaced: otherwise the log would be written past it, to the descriptor. */
  override write = super.write.bind(this);
  readonly #name: OutputName;
  /** Whether its command has ended: what that still writes is not of the next one. */
  isOver = false;

  constructor(name: OutputName) {
    super();
    this.#name = name;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isOver) send({ output: this.#name, base64: chunk.toString('base64') });
    done();
  }
}

function send(message: FromHost): void {
  process.send?.(message);
}
