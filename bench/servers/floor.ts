/**
 * The floor: the inbox alone behind node:http, or behind Express with `--express`. Each delivery is recorded, claimed,
 * answered and marked done, durably. Nothing is verified, read, dispatched or logged, and the ids are made up. No
 * receiver with this inbox can be faster.
 */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import express from 'express';
import { databaseFile, serve } from './common.ts';

// These modules are not public. They are loaded from the built package, as users have it.
const built = (file: string) => new URL(`../../dist/${file}`, import.meta.url).href;
const { SqliteStore } = (await import(
  built('store/sqlite/sqlite-store.js')
)) as typeof import('../../src/store/sqlite/sqlite-store.ts');
const { systemClock } = (await import(built('kit/clock.js'))) as typeof import('../../src/kit/clock.ts');

const store = new SqliteStore(databaseFile(), systemClock);
await store.open();

const answer = JSON.stringify({ status: 'accepted' });
const headers = { 'content-type': 'application/json', 'user-agent': 'floor' };

async function record(body: Uint8Array): Promise<void> {
  const traceId = randomUUID();
  const now = Date.now();
  const ids = { traceId, identity: `body:${traceId}`, callId: randomUUID(), organizationId: undefined };
  const times = { occurredAt: now, receivedAt: now };
  const facts = {
    eventName: 'CallHandler.CallEnded',
    facts: { source: 'body' },
    source: 'delivered',
  } as const;
  const { written, claimed } = store.record({ ...ids, ...times, ...facts, headers, body }, true);
  void claimed.then((event) => event && store.finish(event));
  await written;
}

const handle = (request: IncomingMessage, response: ServerResponse): void => {
  const chunks: Uint8Array[] = [];
  request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  request.on('end', () => {
    void record(Buffer.concat(chunks)).then(() => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
      return response.end(answer);
    });
  });
};

const app = express();
// Without Express's own reading and answering, which a receiver need not use either.
app.post('/hook', handle);

serve(createServer(process.argv.includes('--express') ? app : handle), { stop: () => store.close() });
