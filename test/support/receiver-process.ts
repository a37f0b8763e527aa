/**
 * A receiver in a process of its own, for tests to kill. Its argument is `ProcessOptions` as JSON. It prints JSON
 * lines; the first one with `url` says where it listens.
 */
import { appendFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type CallEvent, createReceiver, type Receiver } from '../../src/index.ts';
import { secret } from './deliveries.ts';
import { clockWithoutWriteTimeout } from './clock-without-write-timeout.ts';
import { serverWithoutIdleTimeout } from './server-without-idle-timeout.ts';
import type { ProcessOptions } from './process.ts';

const { database, file, handlers, diesReading } = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions;

const say = (line: Readonly<Record<string, unknown>>) => process.stdout.write(`${JSON.stringify(line)}\n`);
const isMarked = (payload: Readonly<Record<string, unknown>>, mark: string) => payload[mark] === true;
const released = Promise.withResolvers<void>();

const registrations: Readonly<Record<ProcessOptions['handlers'], (receiver: Receiver) => unknown>> = {
  none: () => {},
  /** One effect in the database, committed together with the "done" mark; one outside of it, made at least once. */
  effects: (receiver) =>
    receiver
      .on('*', { name: 'committing' }, async (event, context) => {
        await context.commit((db) => {
          db.exec('create table if not exists effects (trace_id text)');
          db.prepare('insert into effects values (?)').run(event.traceId);
        });
      })
      .on('*', { name: 'appending' }, (event) => appendFileSync(file, `${event.traceId}\n`)),
  /** A run that prints when it begins and ends; if the event is marked with `hold`, it ends when the test releases it. */
  gated: (receiver) =>
    receiver.on('*', { name: 'gated' }, async (event) => {
      say({ begun: event.traceId });
      if (isMarked(event.payload, 'hold')) await released.promise;
      say({ ended: event.traceId });
    }),
  /** The same, and then it commits an effect; it prints why, if that is refused. */
  committing: (receiver) =>
    receiver.on('*', { name: 'committing' }, async (event, context) => {
      say({ begun: event.traceId });
      if (isMarked(event.payload, 'hold')) await released.promise;
      await context
        .commit((db) => {
          db.exec('create table if not exists effects (trace_id text)');
          db.prepare('insert into effects values (?)').run(event.traceId);
        })
        .catch((error: unknown) => {
          say({ refused: (error as { readonly code?: string }).code });
          throw error;
        });
      say({ ended: event.traceId });
    }),
  /** A run that kills its process at every attempt, if the event is marked with `deadly`. */
  deadly: (receiver) => receiver.on('*', { name: 'deadly', retry: { attempts: 3 } }, deadly),
  /** The same with a single attempt. */
  once: (receiver) => receiver.on('*', { name: 'deadly', retry: { attempts: 1 } }, deadly),
  /** Two runs that take all memory at their only attempt, if the event is marked with `hoard`, and else commit. */
  hoarding: (receiver) => {
    for (const name of ['one', 'two']) {
      receiver.on('*', { name, retry: { attempts: 1 } }, async (event, context) => {
        const hoard: unknown[] = [];
        while (isMarked(event.payload, 'hoard')) hoard.push(structuredClone(event.payload));
        await context.commit((db) => {
          db.exec('create table if not exists effects (handler text, trace_id text)');
          db.prepare('insert into effects values (?, ?)').run(name, event.traceId);
        });
      });
    }
  },
};

async function deadly(event: CallEvent): Promise<void> {
  // Slow runs are still in flight when the process dies.
  if (isMarked(event.payload, 'slow')) await work(200);
  if (isMarked(event.payload, 'deadly')) await work(50).then(() => process.kill(process.pid, 'SIGKILL'));
  appendFileSync(file, `${event.traceId}\n`);
}

if (diesReading) {
  const parse = JSON.parse;
  JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]): unknown => {
    if (text.includes('"deadlyToRead":true')) process.kill(process.pid, 'SIGKILL');
    return parse(text, reviver);
  };
}

/** Stands for a handler's work. */
function work(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

const receiver = createReceiver({
  secrets: secret,
  database,
  clock: clockWithoutWriteTimeout,
  https: { required: false },
  logger: { level: 'silent' },
});
registrations[handlers](receiver);
await receiver.start();

const heartbeats = receiver.database.prepare('select sum(heartbeats) as heartbeats from processes');
/** What the test asks, by path. Everything else is a delivery. */
const answers: Readonly<Record<string, () => unknown>> = {
  '/counts': () => receiver.counts(),
  '/activity': () => ({
    turns: performance.nodeTiming.uvMetricsInfo.loopCount,
    ...(heartbeats.get() as object),
  }),
  '/release': () => released.resolve(),
};
const take = receiver.nodeHandler();
// Not Express: loading it takes longer than all that these processes do.
const server = serverWithoutIdleTimeout((request, response) => {
  const answer = answers[request.url ?? ''];
  if (answer === undefined) take(request, response);
  else void Promise.resolve(answer()).then((given) => response.end(JSON.stringify(given ?? {})));
}).listen(0, '127.0.0.1', () => {
  say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void receiver.stop().then(() => process.exit(0));
});
