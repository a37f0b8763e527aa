/**
 * A receiver in a process of its own, mounted in Express: what the tests kill. Its one argument says, as JSON,
 * where it keeps what and which handlers it has. It prints JSON lines; the first with `url` says where it listens.
 */
import { appendFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { secret } from './deliveries.ts';
import type { ProcessOptions } from './process.ts';

const { database, file, handlers } = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions;

const say = (line: Readonly<Record<string, unknown>>) => process.stdout.write(`${JSON.stringify(line)}\n`);
const isMarked = (payload: Readonly<Record<string, unknown>>, mark: string) => payload[mark] === true;
const released = Promise.withResolvers<void>();

const registrations: Readonly<Record<ProcessOptions['handlers'], (receiver: Receiver) => unknown>> = {
  none: () => {},
  /** One effect in the database, made with the "done" mark; one outside of it, made at least once. */
  effects: (receiver) =>
    receiver
      .on('*', { name: 'committing' }, async (event, context) => {
        await context.commit((db) => {
          db.exec('create table if not exists effects (trace_id text)');
          db.prepare('insert into effects values (?)').run(event.traceId);
        });
      })
      .on('*', { name: 'appending' }, (event) => appendFileSync(file, `${event.traceId}\n`)),
  /** Begins and ends only when it is released: what a dead process holds. */
  gated: (receiver) =>
    receiver.on('*', { name: 'gated' }, async (event) => {
      say({ begun: event.traceId });
      if (isMarked(event.payload, 'hold')) await released.promise;
      say({ ended: event.traceId });
    }),
  /** An event that takes the process with it, each time. */
  deadly: (receiver) =>
    receiver.on('*', { name: 'deadly', retry: { attempts: 3 } }, async (event) => {
      // Others work on beside it when it happens.
      if (isMarked(event.payload, 'slow')) await work(200);
      if (isMarked(event.payload, 'deadly')) await work(50).then(() => process.kill(process.pid, 'SIGKILL'));
      appendFileSync(file, `${event.traceId}\n`);
    }),
};

/** What takes a handler its time. */
function work(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

const receiver = createReceiver({
  secrets: secret,
  database,
  https: { required: false },
  logger: { level: 'silent' },
});
registrations[handlers](receiver);
await receiver.start();

const app = express();
app.use('/webhooks', receiver.middleware());
app.get('/counts', async (_request, response) => {
  response.json(await receiver.counts());
});
app.get('/usage', (_request, response) => {
  response.json({ ...process.cpuUsage(), elapsed: performance.now() });
});
app.post('/release', (_request, response) => {
  released.resolve();
  response.json({});
});
const server = app.listen(0, '127.0.0.1', () => {
  say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void receiver.stop().then(() => process.exit(0));
});
