/**
 * Ends a Postgres server and removes its folders once the process that started it is gone, even if that was killed.
 * Runs in a process of its own. Its arguments are the server's data folder and the folders to remove. The other process
 * writes the server's process id to the pipe on standard input, and an empty line when the server has ended; the pipe
 * ends with that process.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const [dataFolder = '', ...folders] = process.argv.slice(2);
if (folders.length === 0) throw new Error('The folders are missing.');

let server = 0;
for await (const line of createInterface({ input: process.stdin })) server = Number(line);

if (server > 0 && signal(server, 'SIGQUIT')) {
  // The server ends its own processes within five seconds, then removes this file. Its process id can stay for longer,
  // until init reaps it.
  const file = join(dataFolder, 'postmaster.pid');
  for (let tries = 0; tries < 200 && existsSync(file) && signal(server, 0); tries += 1) await sleep(50);
}
for (const folder of folders)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Sends a signal; 0 only checks. Returns whether there is such a process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
