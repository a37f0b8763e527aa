/** A backend whose inbox and tables are in one Postgres. README.md in this folder says how to run it. */
import { drizzle } from 'drizzle-orm/node-postgres';
import express from 'express';
import { Pool } from 'pg';
import { createReceiver } from 'ringback';
import { postgres } from 'ringback/postgres';
import handlers from './handlers.ts';
import { agents, createTables } from './schema.ts';

const connectionString = process.env['DATABASE_URL'];
const receiver = createReceiver({
  secrets: process.env['WEBHOOK_SECRET'],
  database: postgres({ connectionString }),
  // The proxy that terminates TLS runs on this machine.
  https: { trustProxy: 'loopback' },
});

await receiver.database.transaction((tx) => tx.query(createTables));
handlers(receiver);

// For everything but `ctx.commit`, the app has connections of its own.
const pool = new Pool({ connectionString });
// Without a listener, a connection that is lost while idle, such as when the database restarts, would end the app.
pool.on('error', () => {});
const db = drizzle(pool);

const app = express();
// Before express.json(): the signature is over the raw bytes, which a body parser would consume.
app.use('/webhooks/calls', receiver.middleware());
app.use(express.json());
app.get('/agents', async (_request, response) => {
  response.json(await db.select().from(agents));
});

await receiver.start();
const server = app.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', (error) => {
  // Express 5 also calls this function with an error, such as for a port that is in use.
  if (error) throw error;
  process.stdout.write(`${JSON.stringify({ event: 'listening', address: server.address() })}\n`);
});

// Longer than a proxy in front keeps an idle connection: it might send a delivery on one that is just being closed.
server.keepAliveTimeout = 75_000;

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  server.close();
  await receiver.stop();
  server.closeAllConnections();
  await pool.end();
}
