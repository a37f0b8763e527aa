/** (k) BullMQ: answers once Redis has the job. A worker of the same process handles and completes it. */
import { Queue, Worker } from 'bullmq';
import { databaseFile, serve } from './common.ts';
import { verifiedServer } from './verified.ts';

const { hostname: host, port } = new URL(databaseFile());
const connection = { host, port: Number(port) };
const queue = new Queue('events', { connection });

let handled = 0;
const handle = (): Promise<void> => {
  handled += 1;
  return Promise.resolve();
};
// One job at a time, the default, would leave most of the events behind.
const worker = new Worker('events', handle, { connection, concurrency: 100 });
worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

serve(
  // A job with an existing id is not added again. BullMQ doesn't report whether it was added.
  verifiedServer(async ({ event }) => {
    await queue.add(event.eventName, event, { jobId: event.traceId });
    return true;
  }),
  {
    begin: () => {
      handled = 0;
    },
    handled: () => handled,
    stop: async () => {
      await worker.close();
      await queue.close();
    },
  },
);
