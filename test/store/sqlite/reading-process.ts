/**
 * Claims all new events of the database in its argument, begins to read each of them without an end, prints their
 * number, and waits to be killed.
 */
import { systemClock } from '../../../src/kit/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

const store = new SqliteStore(process.argv[2] ?? '', systemClock);
await store.open();
const claimed = await store.claimEvents(100);
for (const event of claimed) await store.beginReading(event);
process.stdout.write(`${JSON.stringify({ claimed: claimed.length })}\n`);
setInterval(() => {}, 60_000);
