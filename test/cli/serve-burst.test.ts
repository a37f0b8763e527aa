// @module-tag long
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveProcess } from './command.ts';

/** More than Node lets wait unless it is told otherwise. */
const burst = 600;
/** How many the system lets wait at the most; only Linux says. */
const setting = '/proc/sys/net/core/somaxconn';
const most = existsSync(setting) ? Number(readFileSync(setting, 'utf8')) : 0;

/** Resolves when the system has taken the connection, whether or not the process has. */
async function connected(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
}

test.runIf(most > burst)('connections that come while the process is busy wait for it', async () => {
  const running = serveProcess();
  const port = Number(new URL(await running.url()).port);
  // Stopped by the system, it accepts nothing; when the test ends, it is killed all the same.
  running.child.kill('SIGSTOP');
  await Promise.all(Array.from({ length: burst }, () => connected(port)));
  running.child.kill('SIGCONT');
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
});
