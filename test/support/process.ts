import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { StoreCounts } from './public.ts';

/** The argument of a receiver in another process. */
export interface ProcessOptions {
  readonly database: string;
  /** The file that its handlers append the trace ids of handled events to. */
  readonly file: string;
  readonly handlers: 'none' | 'effects' | 'gated' | 'committing' | 'deadly' | 'once' | 'hoarding';
  /** Whether reading an event that is marked with `deadlyToRead` kills the process. */
  readonly diesReading?: boolean;
  /** The size of its heap, in megabytes. */
  readonly heap?: number;
  /** What its environment has besides this process's. */
  readonly environment?: Readonly<Record<string, string>>;
}

type Line = Readonly<Record<string, unknown>>;

const script = fileURLToPath(new URL('./receiver-process.ts', import.meta.url));

/** A script in a process of its own that prints JSON lines. If it still runs when the test ends, it is killed. */
export class Script {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: Line[] = [];
  #watchers: (() => void)[] = [];
  #errors = '';

  constructor(file: string, argument: string, flags: readonly string[] = [], environment = {}) {
    this.#child = spawn(process.execPath, [...flags, file, argument], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    this.#exited = once(this.#child, 'exit').then(() => this.#notify());
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (text) => {
        this.#lines.push(JSON.parse(text) as Line);
        this.#notify();
      });
    }
    onTestFinished(() => this.kill());
  }

  /** Resolves to the first line that has this field with this value, or with any value. */
  async line(field: string, value?: unknown): Promise<Line> {
    for (;;) {
      const found = this.#lines.find(
        (line) => field in line && (value === undefined || line[field] === value),
      );
      if (found) return found;
      if (this.hasExited) throw new Error(`It ended before it said ${field}. ${this.#errors}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** The lines that were printed so far that have this field with this value. */
  lines(field: string, value: unknown): readonly Line[] {
    return this.#lines.filter((line) => line[field] === value);
  }

  /** The values of this field in the lines that were printed so far. */
  said(field: string): unknown[] {
    return this.#lines.filter((line) => field in line).map((line) => line[field]);
  }

  /** Kills it, and waits until it is gone. */
  async kill(): Promise<void> {
    if (!this.hasExited) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Suspends it, until it is resumed. */
  suspend(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Asks it to stop, and resolves to its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.exit();
  }

  /** Resolves to its exit code, null when a signal ended it. */
  async exit(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }

  /** Whether it is gone. */
  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #notify(): void {
    for (const watcher of this.#watchers.splice(0)) watcher();
  }
}

/** A receiver in a process of its own. */
export class ReceiverProcess extends Script {
  readonly #ready: Promise<string>;

  constructor(options: ProcessOptions) {
    const { heap, environment } = options;
    const flags = heap === undefined ? [] : [`--max-old-space-size=${heap}`];
    super(script, JSON.stringify(options), flags, environment);
    this.#ready = this.line('url').then(({ url }) => String(url));
    // If the process dies before it listens, `url` rejects; this only prevents an unhandled rejection.
    this.#ready.catch(() => {});
  }

  /** The address of deliveries, once the process listens. */
  async url(): Promise<string> {
    return `${await this.#ready}/webhooks`;
  }

  async counts(): Promise<StoreCounts> {
    return (await (await fetch(`${await this.#ready}/counts`)).json()) as StoreCounts;
  }

  /** How many turns its event loop has made, and how many heartbeats it has written. */
  async activity(): Promise<{ turns: number; heartbeats: number }> {
    const response = await fetch(`${await this.#ready}/activity`);
    return (await response.json()) as { turns: number; heartbeats: number };
  }

  /** Lets gated handlers end. */
  async release(): Promise<void> {
    await fetch(`${await this.#ready}/release`, { method: 'POST' });
  }
}
