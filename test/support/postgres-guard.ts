/**
 * Ends a Postgres server and removes its folders when the process that started it is gone, however that ended. It runs in
 * a process of its own. Its arguments are the server's data folder and the folders to remove, and its standard input is a
 * pipe: a line tells the server's process id, an empty line that it has ended, and the end of the pipe that the other
 * process has.
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
  // until the system's first process looks.
  const file = join(dataFolder, 'postmaster.pid');
  for (let tries = 0; tries < 200 && existsSync(file) && signal(server, 0); tries += 1) await sleep(50);
}
for (const folder of folders)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Whether there is such a process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
