/**
 * A store whose new writer thread is locked out at first, and to which an event comes before the process has been
 * entered again. Its one argument is a JSON object with the database. It prints a JSON line with what was claimed.
 */
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Recording } from '../../../src/store/store.ts';
import { claimedOf, eventOf, traceIdsOf } from '../parts.ts';
import { ManualClock } from '../../support/clock.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };
const threads: Worker[] = [];
process.on('worker', (thread) => threads.push(thread));

let recording: Recording | undefined;
let unlock: (() => void) | undefined;
const clock = new ManualClock();
// Nothing is given up: no timer fires. The first one is set when the new thread was locked out, and before the entry is
// repeated.
clock.after = () => {
  const unlockOnce = unlock;
  unlock = undefined;
  if (unlockOnce) recording = store.record(eventOf('meanwhile'), true);
  unlockOnce?.();
  return () => {};
};
const store = new SqliteStore(database, clock);
await store.open();
await store.announce(['orders']);
await claimedOf(store, eventOf('before'));
await threads.at(-1)?.terminate();
const other = new Database(database);
other.exec('begin immediate');
unlock = () => void other.close();
// The first one may come before the entry, too.
const claimed = [...(await store.claimEvents(10)), ...(await store.claimEvents(10))];
const recorded = await recording?.claimed;
const processes = (await store.handlers.processes()).map(({ pid, handlers }) => [
  pid === process.pid,
  handlers,
]);
const traceIds = [...traceIdsOf(claimed), ...(recorded ? [recorded.traceId] : [])].toSorted();
const line = { claimed: traceIds, processes };
process.stdout.write(`${JSON.stringify(line)}\n`);
await store.close();
