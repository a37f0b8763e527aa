/** Claims all events and runs of the database in its argument, prints the number of events, and waits to be killed. */
import { systemClock } from '../../../src/kit/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { claimDue, handlerOf } from '../parts.ts';

const store = new SqliteStore(process.argv[2] ?? '', systemClock);
process.stdout.write(`${JSON.stringify({ opening: true })}\n`);
await store.open();
const claimed = await store.claimEvents(100);
for (const handler of await store.waitingHandlers()) await claimDue(store, handlerOf(handler));
process.stdout.write(`${JSON.stringify({ claimed: claimed.length })}\n`);
setInterval(() => {}, 60_000);
