/** (d) What a user would write: Express, @octokit/webhooks, zod, better-sqlite3, one FULL commit per event. */
import { createServer } from 'node:http';
import { Webhooks } from '@octokit/webhooks';
import Database from 'better-sqlite3';
import express from 'express';
import { z } from 'zod';
import { databaseFile, secret, serve } from './common.ts';

const database = new Database(databaseFile());
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(`create table events (
  trace_id text primary key, event_name text, call_id text, body blob, received_at integer, done integer)`);
database.exec('create index events_call on events (call_id)');
const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, 1) on conflict do nothing');

const envelope = z.looseObject({
  traceId: z.string(),
  eventName: z.string(),
  payload: z.looseObject({ call_id: z.string() }),
});
const webhooks = new Webhooks({ secret });
let handled = 0;
const handle = (): Promise<void> => {
  handled += 1;
  return Promise.resolve();
};

/**
 * Answers when the delivery is verified, handled and stored as done. A handler that ran after the answer would take a
 * second commit for the mark, or be lost with the process.
 */
async function take(request: express.Request, response: express.Response): Promise<void> {
  const body = (request.body as Buffer).toString('utf8');
  if (!(await webhooks.verify(body, request.get('x-webhook-signature') ?? ''))) {
    response.status(401).end();
    return;
  }
  const { traceId, eventName, payload } = envelope.parse(JSON.parse(body));
  await handle();
  const { changes } = insert.run(traceId, eventName, payload.call_id, request.body, Date.now());
  response.json({ status: changes === 1 ? 'accepted' : 'duplicate' });
}

const app = express();
app.post('/hook', express.raw({ type: () => true, inflate: false }), take);
serve(createServer(app), {
  begin: () => {
    handled = 0;
  },
  handled: () => handled,
});
