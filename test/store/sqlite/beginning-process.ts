/**
 * Claims all new events of the database in its argument, begins a run of each for `one` and for `two`, prints the
 * number of events, and waits to be killed.
 */
import { systemClock } from '../../../src/kit/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { handlerOf } from '../parts.ts';

const store = new SqliteStore(process.argv[2] ?? '', systemClock);
await store.open();
const claimed = await store.claimEvents(100);
for (const event of claimed) {
  for (const run of store.runsOf(event, [handlerOf('one'), handlerOf('two')])) await store.countAttempt(run);
}
process.stdout.write(`${JSON.stringify({ claimed: claimed.length })}\n`);
setInterval(() => {}, 60_000);
