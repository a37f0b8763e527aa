/**
 * Claims all events and runs of the inbox in its argument, and prints how many events it has; then waits to be killed. With
 * `reading`, it begins to read each event; with `beginning`, it begins a run of each for `one` and for `two`.
 */
import { systemClock } from '../../../src/kit/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { claimDue, handlerOf } from '../parts.ts';

const { connectionString, schema, how } = JSON.parse(process.argv[2] ?? '') as {
  readonly connectionString: string;
  readonly schema: string;
  readonly how: 'holding' | 'reading' | 'beginning';
};
const store = new PostgresStore({ connectionString, pool: undefined, schema }, systemClock);
await store.open();
const claimed = await store.claimEvents(100);
const handlers = how === 'beginning' ? [] : await store.waitingHandlers();
const runs = [];
for (const handler of handlers) runs.push(...(await claimDue(store, handlerOf(handler))));
if (how === 'reading') for (const one of [...claimed, ...runs]) await store.beginReading(one);
if (how === 'beginning')
  for (const event of claimed)
    for (const run of store.runsOf(event, [handlerOf('one'), handlerOf('two')]))
      await store.countAttempt(run);
process.stdout.write(`${JSON.stringify({ claimed: claimed.length })}\n`);
setInterval(() => {}, 60_000);
