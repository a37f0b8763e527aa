/** A Redis server for each run, if the machine has one. It keeps its file in a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { freePort } from '../../test/support/free-port.ts';
import type { Backend, Counter } from '../backend.ts';

const program = 'redis-server';
/** Every write is on the disk before it is answered. */
const durable = { appendonly: 'yes', appendfsync: 'always' };

/** The version and the settings of durability; undefined if Redis isn't installed. */
export function describeRedis(): string | undefined {
  const { error, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (error) return undefined;
  const version = /v=([\d.]+)/.exec(stdout)?.[1] ?? 'of an unknown version';
  const settings = Object.entries(durable).map(([name, value]) => `${name} ${value}`);
  return `Redis ${version} (${settings.join(', ')})`;
}

/** Starts a Redis on a free port. */
export async function redisBackend(): Promise<Backend> {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-bench-'));
  const port = await freePort();
  // Writes only the append-only file: no snapshots at times of its own.
  const options = { ...durable, port, bind: '127.0.0.1', dir: folder, save: '' };
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(program, values, { stdio: ['ignore', 'pipe', 'inherit'] });
  // Redis would not notice that the benchmark was interrupted.
  const remove = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  const close = async () => {
    process.off('exit', remove);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    remove();
  };
  try {
    await ready(child);
  } catch (error) {
    await close();
    throw error;
  }
  return { address: `redis://127.0.0.1:${port}`, counter: () => openCounter(port), close };
}

/** Resolves when the server takes connections. What it prints later is read and dropped. */
async function ready({ stdout }: ChildProcess): Promise<void> {
  if (!stdout) throw new Error('Redis has no output to read');
  const printed: string[] = [];
  for await (const line of createInterface({ input: stdout })) {
    printed.push(line);
    if (line.includes('Ready to accept connections')) {
      stdout.resume();
      return;
    }
  }
  throw new Error(`Redis has ended before it took connections. ${printed.join('\n')}`);
}

/** The lists and sorted sets in which BullMQ keeps the ids of jobs that are not done. */
const lists = ['wait', 'active', 'paused'];
const sortedSets = ['delayed', 'prioritized', 'failed'];

async function openCounter(port: number): Promise<Counter> {
  const redis = new Redis(port, '127.0.0.1');
  const key = (name: string) => `bull:events:${name}`;
  const done = () => redis.zcard(key('completed'));
  const open = async () => {
    const counts = [
      ...lists.map((name) => redis.llen(key(name))),
      ...sortedSets.map((name) => redis.zcard(key(name))),
    ];
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
  // A completed job stays until it is removed.
  const stored = async () => (await done()) + (await open());
  await redis.ping();
  return {
    last: stored,
    storedSince: async (mark) => (await stored()) - mark,
    open,
    close: async () => {
      await redis.quit();
    },
  };
}
