/**
 * Four processes on one machine that share a port and a database file. Each event is handled once, by one of them. Copy
 * it into a project of your own:
 *
 *   npm install express ringback
 *   WEBHOOK_SECRET=whsec_… node app.ts      # or, with pm2.config.cjs beside it, pm2 start pm2.config.cjs
 *
 * It expects a proxy that terminates TLS on the same machine, as in ../behind-nginx.
 */
import cluster from 'node:cluster';
import express from 'express';
import { createReceiver } from 'ringback';

if (cluster.isPrimary) supervise();
else await work();

/** Keeps four workers alive. The primary process has no receiver: it only hands connections on. */
function supervise(): void {
  for (let count = 0; count < 4; count += 1) cluster.fork();
  const started = new Set<number>();
  cluster.on('listening', (worker) => started.add(worker.id));
  cluster.on('exit', (worker) => {
    if (isStopping) return;
    process.stdout.write(`${JSON.stringify({ event: 'worker_lost', pid: worker.process.pid })}\n`);
    if (started.has(worker.id)) cluster.fork();
    // A worker that failed before it listened, such as without a secret, would fail again.
    else process.exitCode = 1;
  });
  let isStopping = false;
  process.on('SIGTERM', stopWorkers);
  process.on('SIGINT', stopWorkers);

  function stopWorkers(): void {
    isStopping = true;
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  }
}

async function work(): Promise<void> {
  const receiver = createReceiver({
    secrets: process.env['WEBHOOK_SECRET'],
    // A file on a local disk: all four open it.
    database: process.env['DATABASE'] ?? './calls.db',
    https: { trustProxy: 'loopback' },
  });
  // The same handlers in every worker: whichever claims an event runs them.
  receiver.on('CallHandler.CallEnded', { name: 'note-call' }, (_event, ctx) => {
    ctx.log.info('a call has ended');
  });
  await receiver.start();
  const app = express().use('/webhooks/calls', receiver.middleware());
  const server = app.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', (error) => {
    if (error) throw error;
    process.stdout.write(`${JSON.stringify({ event: 'listening', address: server.address() })}\n`);
  });
  server.keepAliveTimeout = 75_000;
  // Not `once`: a signal to the whole process group arrives twice, and the second would end this process at once. pm2
  // and Ctrl-C send SIGINT.
  let stopping: Promise<void> | undefined;
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  function stop(): void {
    stopping ??= end();
  }

  async function end(): Promise<void> {
    server.close();
    await receiver.stop();
    server.closeAllConnections();
    // The channel to the primary process would keep this one alive.
    cluster.worker?.disconnect();
  }
}
