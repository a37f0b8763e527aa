/** Starts the servers and the load, each in a process of its own, and speaks with them. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { LoadOrder, LoadReport } from './load.ts';
import { type ServerReport, secret } from './servers/common.ts';

/** A server under test. */
export interface Running {
  readonly port: number;
  readonly report: () => Promise<ServerReport>;
  readonly end: () => void;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Starts a server file of this folder. */
export async function startServer(file: string): Promise<Running> {
  const child = fork(here(`./servers/${file}`), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const { port } = await nextMessage<{ port: number }>(child);
  return {
    port,
    report: () => {
      const report = nextMessage<ServerReport>(child);
      child.send('report');
      return report;
    },
    end: () => child.send('end'),
  };
}

/** Starts `ringback serve`, as a user does, and looks into its database from outside. */
export async function startCommand(): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-bench-'));
  const database = join(folder, 'inbox.db');
  const app = join(folder, 'app.mjs');
  writeFileSync(app, "export default (receiver) => { receiver.on('*', { name: 'handler' }, () => {}); };\n");
  const flags = ['--app', app, '--database', database, '--port', '0', '--path', '/hook', '--insecure-http'];
  const child = spawn(process.execPath, [here('../src/cli/main.ts'), 'serve', ...flags], {
    env: { ...process.env, RINGBACK_SECRETS: secret, RINGBACK_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await listeningPort(child);
  const reader = new Database(database, { readonly: true });
  const count = reader.prepare(
    "select count(*) as stored, coalesce(sum(state = 'done'), 0) as done from events",
  );
  return {
    port,
    report: () =>
      Promise.resolve({ ...(count.get() as { stored: number; done: number }), stall: -1, memory: -1 }),
    end: () => {
      reader.close();
      child.kill('SIGTERM');
    },
  };
}

/** Runs the load against a port. */
export async function runLoad(order: LoadOrder): Promise<LoadReport> {
  const child = fork(here('./load.ts'), { execArgv: ['--max-old-space-size=8192'] });
  child.send(order);
  return nextMessage<LoadReport>(child);
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`A process of the benchmark ended with ${code}`)));
  });
}

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
