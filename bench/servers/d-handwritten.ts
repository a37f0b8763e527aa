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
  trace_id text primary key, event_name text, call_id text, body blob, received_at integer, done integer default 0)`);
database.exec('create index events_call on events (call_id)');
const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, 0) on conflict do nothing');
const done = database.prepare('update events set done = 1 where trace_id = ?');

const envelope = z.looseObject({
  traceId: z.string(),
  eventName: z.string(),
  payload: z.looseObject({ call_id: z.string() }),
});
const webhooks = new Webhooks({ secret });
const handle = (): Promise<void> => Promise.resolve();

/** Answers only after the delivery is verified and stored, and runs the handler after the answer. */
async function take(request: express.Request, response: express.Response): Promise<void> {
  const body = (request.body as Buffer).toString('utf8');
  if (!(await webhooks.verify(body, request.get('x-webhook-signature') ?? ''))) {
    response.status(401).end();
    return;
  }
  const { traceId, eventName, payload } = envelope.parse(JSON.parse(body));
  const { changes } = insert.run(traceId, eventName, payload.call_id, request.body, Date.now());
  response.json({ status: changes === 1 ? 'accepted' : 'duplicate' });
  if (changes === 1) setImmediate(() => void handle().then(() => done.run(traceId)));
}

const app = express();
app.post('/hook', express.raw({ type: () => true, inflate: false }), take);
serve(createServer(app));
