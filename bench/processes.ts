/** Starts the servers and the load, each in a process of its own, and exchanges messages with them. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadReport } from './load/order.ts';
import { type Handled, type Listening, type Question, type ServerReport, secret } from './servers/common.ts';

/** A server under test. */
export interface Running {
  readonly pid: number;
  readonly port: number;
  /** Milliseconds until it listened: from making its parts, as it reports itself, and from the start of its process. */
  readonly openedIn: number;
  readonly startedIn: number;
  /** Forgets what was measured so far. */
  readonly begin: () => Promise<void>;
  /** Undefined for a server that can't be asked. */
  readonly report: () => Promise<ServerReport | undefined>;
  /** How often its handler has run since `begin`; undefined for a server that can't be asked. */
  readonly handled: () => Promise<number | undefined>;
  /** Resolves when its process is gone. */
  readonly end: () => Promise<void>;
}

/** How to start a server. */
export interface StartOptions {
  readonly arguments?: readonly string[];
  readonly nodeFlags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a server whose rows, if it stores any, go to the file. */
export type Start = (database: string, options?: StartOptions) => Promise<Running>;

/**
 * The advice of docs/deployment.md for little memory: otherwise, Node lets short-lived objects take 100 MB, and objects
 * that wait for a slow disk some hundreds.
 */
export const littleMemory = {
  nodeFlags: ['--max-semi-space-size=8', '--max-old-space-size=256'],
  environment: { MALLOC_ARENA_MAX: '1' },
} satisfies StartOptions;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Starts a server file of this folder. */
export function serverFile(file: string): Start {
  return async (database, { arguments: rest = [], nodeFlags = [], environment = {} } = {}) => {
    const startedAt = performance.now();
    const child = fork(here(`./servers/${file}`), [database, ...rest], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [...nodeFlags],
      env: { ...process.env, ...environment },
    });
    const { port, openedIn } = await nextMessage<Listening>(child);
    return {
      pid: child.pid ?? 0,
      port,
      openedIn,
      startedIn: performance.now() - startedAt,
      begin: () => ask(child, 'begin'),
      report: () => ask<ServerReport>(child, 'report'),
      handled: async () => (await ask<Handled>(child, 'handled')).handled,
      end: () => ended(child, () => child.send('end')),
    };
  };
}

/** Starts `ringback serve`, as a user does. */
export const serveCommand: Start = async (database, { nodeFlags = [], environment = {} } = {}) => {
  const app = `${database}-app.mjs`;
  writeFileSync(app, "export default (receiver) => { receiver.on('*', { name: 'handler' }, () => {}); };\n");
  const flags = ['--app', app, '--database', database, '--port', '0', '--path', '/hook', '--insecure-http'];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, here('../dist/cli/main.js'), 'serve', ...flags], {
    env: { ...process.env, RINGBACK_SECRETS: secret, RINGBACK_LOG_LEVEL: 'info', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // Without an IPC channel, the command would not notice that the benchmark was interrupted.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const port = await listeningPort(child);
  const startedIn = performance.now() - startedAt;
  return {
    pid: child.pid ?? 0,
    port,
    openedIn: startedIn,
    startedIn,
    begin: () => Promise.resolve(),
    report: () => Promise.resolve(undefined),
    handled: () => Promise.resolve(undefined),
    end: () => ended(child, () => child.kill('SIGTERM')),
  };
};

/** The process of the load. It takes several orders, so that its code is warm for the measured one. */
export class Load {
  readonly #child = fork(here('./load/load.ts'));

  run(order: LoadOrder): Promise<LoadReport> {
    this.#child.send(order);
    return nextMessage<LoadReport>(this.#child);
  }

  end(): Promise<void> {
    return ended(this.#child, () => this.#child.disconnect());
  }
}

/** Makes a folder for the work and removes it afterwards: a full comparison writes more than a small disk holds. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function ask<T>(child: ChildProcess, question: Question): Promise<T> {
  const answer = nextMessage<T>(child);
  child.send(question);
  return answer;
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off('exit', onExit);
      resolve(message as T);
    };
    const onExit = (code: number | null) => {
      child.off('message', onMessage);
      reject(new Error(`A process of the benchmark ended with ${code}`));
    };
    child.once('message', onMessage).once('exit', onExit);
  });
}

function ended(child: ChildProcess, tell: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    tell();
  });
}

/** The port in the command's line `listening`. Later lines are read, as by a log collector, and dropped. */
async function listeningPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('The command has no output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, url } = JSON.parse(line) as { event?: string; url?: string };
    if (event === 'listening' && url !== undefined) {
      child.stdout.resume();
      return Number(new URL(url).port);
    }
  }
  throw new Error('The command ended before it listened');
}
