/** (j) graphile-worker: answers once the job is committed. A worker of the same process handles and completes it. */
import { run } from 'graphile-worker';
import { databaseFile, serve } from './common.ts';
import { verifiedServer } from './verified.ts';

let handled = 0;
const taskList = {
  events: () => {
    handled += 1;
  },
};
// By default it takes one job at a time, with one query to take and another to complete each.
const worker = {
  connectionString: databaseFile(),
  maxPoolSize: 10,
  concurrentJobs: 10,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
};
const runner = await run({ preset: { worker }, taskList, noHandleSignals: true });

serve(
  // A second job with a key is not added while the first one exists. The result doesn't show whether it was added.
  verifiedServer(async ({ event }) => {
    await runner.addJob('events', event, { jobKey: event.traceId, jobKeyMode: 'unsafe_dedupe' });
    return true;
  }),
  {
    begin: () => {
      handled = 0;
    },
    handled: () => handled,
    stop: () => runner.stop(),
  },
);
