import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary.ts';
import type { HostedRun } from './command-host.ts';
import { hosted } from './hosted.ts';

/** A secret made up for these tests, and another one. */
export const secret = 'whsec_dGVzdC1zZWNyZXQtb25l';
export const otherSecret = 'whsec_dGVzdC1zZWNyZXQtdHdv';

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

/** The real command in a process of its own. If it still runs when the test ends, it is ended. */
export class Running {
  readonly child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #exited: Promise<number | null>;
  #stderr = '';
  #wake: (() => void)[] = [];

  constructor(args: readonly string[], { env = {}, cwd = folder(), node = [] }: ProcessSetting = {}) {
    this.child = spawn(process.execPath, [...node, main, ...args], {
      cwd,
      env: environmentWith(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.child, 'close').then(([code]) => {
      this.#wakeAll();
      return code as number | null;
    });
    this.child.stderr?.on('data', (text: Buffer) => {
      this.#stderr += text.toString();
      this.#wakeAll();
    });
    if (this.child.stdout) {
      createInterface({ input: this.child.stdout }).on('line', (line) => {
        this.#lines.push(line);
        this.#wakeAll();
      });
    }
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.#exited;
    });
  }

  /** What was written to stdout so far. */
  get stdout(): string {
    return this.#lines.join('\n');
  }

  /** Resolves to the first line of stdout that contains the text; rejects when the command ends without it. */
  async line(text: string): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => line.includes(text));
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`Ended without ${text}: ${this.stdout}\n${this.#stderr}`);
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** Resolves when the text has been written to stderr; rejects when the command ends without it. */
  async said(text: string): Promise<void> {
    while (!this.#stderr.includes(text)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`Ended without ${text}: ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
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
    const code = await this.#exited;
    return { code, stdout: this.stdout, stderr: this.#stderr };
  }

  #wakeAll(): void {
    for (const resolve of this.#wake.splice(0)) resolve();
  }
}

/** Runs the command to its end, in a process that runs others too: most of what it does needs no other. */
export async function ringback(
  args: readonly string[],
  { env = {}, cwd = folder(), terminal }: Setting & Pick<HostedRun, 'terminal'> = {},
) {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const { code, stdout, stderr } = await hosted(
    { args, env: environmentWith(env), cwd, ...(terminal !== undefined && { terminal }) },
    over.signal,
  );
  return { code, stdout: stdout.replace(/\n$/, ''), stderr };
}

/** Runs the command to its end, in a process of its own: for what only a process shows, such as how it exits. */
export function ringbackProcess(args: readonly string[], setting?: ProcessSetting) {
  return new Running(args, setting).ended();
}

/** Starts `ringback serve` on a port of the system's choosing, over plain HTTP. */
export function serve(args: readonly string[] = [], { env = {}, ...setting }: ProcessSetting = {}): Running {
  const needed = { RINGBACK_SECRETS: secret, RINGBACK_PORT: '0', RINGBACK_INSECURE_HTTP: 'true' };
  return new Running(['serve', ...args], { ...setting, env: { ...needed, ...env } });
}
