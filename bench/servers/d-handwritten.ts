/** (d) What a user would write: Express, @octokit/webhooks, zod, better-sqlite3, one FULL commit per event. */
import Database from 'better-sqlite3';
import { databaseFile, serve } from './common.ts';
import { type Delivery, verifiedServer } from './verified.ts';

const database = new Database(databaseFile());
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(`create table events (
  trace_id text primary key, event_name text, call_id text, body blob, received_at integer, done integer)`);
database.exec('create index events_call on events (call_id)');
const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, 1) on conflict do nothing');

let handled = 0;
const handle = (): Promise<void> => {
  handled += 1;
  return Promise.resolve();
};

/**
 * Resolves when the delivery is handled and stored as done. A handler that ran after the answer would take a second
 * commit for the mark, or be lost with the process.
 */
async function keep({ event, body }: Delivery): Promise<boolean> {
  await handle();
  const { traceId, eventName, payload } = event;
  return insert.run(traceId, eventName, payload.call_id, body, Date.now()).changes === 1;
}

serve(verifiedServer(keep), {
  begin: () => {
    handled = 0;
  },
  handled: () => handled,
});
