import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { secret } from '../support/deliveries.ts';
import { temporaryFolder } from '../support/temporary.ts';
import type { HostedRun } from './command-host.ts';
import { Hosted, hosted } from './hosted.ts';
import { CommandOutput } from './command-output.ts';

export { otherSecret, secret } from '../support/deliveries.ts';

export const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
export const exampleApp = fileURLToPath(new URL('../../examples/standalone/app.ts', import.meta.url));

/** What a command is given. */
interface Setting {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** What a command in a process of its own is given. */
export interface ProcessSetting extends Setting {
  /** Arguments of Node itself. */
  readonly node?: readonly string[];
}

/** The environment of a command: that of the tests, but no variable of Ringback, and these. */
function environmentWith(
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(RINGBACK_|NODE_OPTIONS)/.test(name));
  return { ...Object.fromEntries(inherited), ...env };
}

/** A folder of the test's own, with these files in it. Removed when the test ends. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

/** A command that runs until it is stopped. If it still runs when the test ends, it is ended. */
abstract class Command {
  protected readonly written = new CommandOutput();

  /** What was written to stdout so far. */
  get stdout(): string {
    return this.written.stdout;
  }

  /** Resolves to the first line of stdout that contains the text; rejects when the command ends without it. */
  line(text: string): Promise<string> {
    return this.written.line(text);
  }

  /** Resolves when the text has been written to stderr; rejects when the command ends without it. */
  said(text: string): Promise<void> {
    return this.written.said(text);
  }

  /** Resolves to the fields of the first log line of that name. */
  async logged(event: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.line(`"event":"${event}"`)) as Record<string, unknown>;
  }

  /** Resolves to where it listens, without the path. */
  async url(): Promise<string> {
    return String((await this.logged('listening'))['url']);
  }

  /** Resolves when the command has ended. */
  async ended(): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const code = await this.exited();
    return { code, stdout: this.stdout, stderr: this.written.stderr };
  }

  protected abstract exited(): Promise<number | null>;
}

/** The real command in a process of its own. */
export class Running extends Command {
  readonly child: ChildProcess;
  readonly #exited: Promise<number | null>;

  constructor(args: readonly string[], { env = {}, cwd = folder(), node = [] }: ProcessSetting = {}) {
    super();
    this.child = spawn(process.execPath, [...node, main, ...args], {
      cwd,
      env: environmentWith(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.child, 'close').then(([code]) => {
      this.written.close();
      return code as number | null;
    });
    for (const name of ['stdout', 'stderr'] as const)
      this.child[name]?.on('data', (chunk: Buffer) => this.written.add(name, chunk));
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.#exited;
    });
  }

  protected override exited(): Promise<number | null> {
    return this.#exited;
  }
}

/** The command in a process that runs others too, until it is stopped: what most of them do needs no other. */
export class HostedCommand extends Command {
  readonly #hosted: Hosted;

  constructor(args: readonly string[], { env = {}, cwd = folder() }: Setting = {}) {
    super();
    this.#hosted = new Hosted({ args, env: environmentWith(env), cwd }, this.written);
    onTestFinished(async ({ task }) => {
      // What has not come as far as a test expects may never stop.
      if (task.result?.state === 'fail') this.#hosted.kill();
      await this.stop().catch(() => {});
    });
  }

  /** Stops it as SIGTERM would; resolves when it has ended. */
  stop(): ReturnType<Command['ended']> {
    this.#hosted.stop();
    return this.ended();
  }

  protected override exited(): Promise<number> {
    return this.#hosted.ended();
  }
}

/** Runs the command to its end, in a process that runs others too: most of what it does needs no other. */
export function ringback(
  args: readonly string[],
  { env = {}, cwd = folder(), terminal }: Setting & Pick<HostedRun, 'terminal'> = {},
) {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  return hosted(
    { args, env: environmentWith(env), cwd, ...(terminal !== undefined && { terminal }) },
    over.signal,
  );
}

/** Runs the command to its end, in a process of its own: for what only a process shows, such as how it exits. */
export function ringbackProcess(args: readonly string[], setting?: ProcessSetting) {
  return new Running(args, setting).ended();
}

/** What `ringback serve` needs to listen on a port of the system's choosing, over plain HTTP. */
function serving({ env = {}, ...setting }: ProcessSetting): ProcessSetting {
  const needed = { RINGBACK_SECRETS: secret, RINGBACK_PORT: '0', RINGBACK_INSECURE_HTTP: 'true' };
  return { ...setting, env: { ...needed, ...env } };
}

/** Starts `ringback serve` in a process that runs other commands too. */
export function serve(args: readonly string[] = [], setting: Setting = {}): HostedCommand {
  return new HostedCommand(['serve', ...args], serving(setting));
}

/** Starts `ringback serve` in a process of its own: for what only a process shows, such as signals. */
export function serveProcess(args: readonly string[] = [], setting: ProcessSetting = {}): Running {
  return new Running(['serve', ...args], serving(setting));
}
