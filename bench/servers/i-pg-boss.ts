/** (i) pg-boss: answers once the job is committed. A worker of the same process handles and completes it. */
import { PgBoss } from 'pg-boss';
import { databaseFile, serve } from './common.ts';
import { verifiedServer } from './verified.ts';

const queue = 'events';
const boss = new PgBoss({ connectionString: databaseFile(), max: 10 });
boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
await boss.start();
await boss.createQueue(queue);

let handled = 0;
// The defaults, one job every two seconds, would leave most of the events behind.
const often = { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
await boss.work(queue, often, (jobs) => {
  handled += jobs.length;
  return Promise.resolve();
});

serve(
  // A second job with an id is not inserted.
  verifiedServer(async ({ event }) => (await boss.send(queue, event, { id: event.traceId })) !== null),
  {
    begin: () => {
      handled = 0;
    },
    handled: () => handled,
    stop: () => boss.stop(),
  },
);
