/** A backend with the receiver mounted in it. README.md in this folder says how to run it. */
import express from 'express';
import { createReceiver } from 'ringback';
import handlers from './handlers.ts';

const receiver = createReceiver({
  secrets: process.env['WEBHOOK_SECRET'],
  database: process.env['DATABASE'] ?? './calls.db',
  // The proxy that terminates TLS runs on this machine.
  https: { trustProxy: 'loopback' },
});

handlers(receiver);

const app = express();
// Before express.json(): the signature is over the raw bytes, which a body parser would consume.
app.use('/webhooks/calls', receiver.middleware());
app.use(express.json());
app.get('/counts', async (_request, response) => {
  response.json(await receiver.counts());
});

await receiver.start();
const server = app.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', (error) => {
  // Express 5 also calls this function with an error, such as for a port that is in use.
  if (error) throw error;
  process.stdout.write(`${JSON.stringify({ event: 'listening', address: server.address() })}\n`);
});

// Longer than a proxy in front keeps an idle connection: it might send a delivery on one that is just being closed.
server.keepAliveTimeout = 75_000;

process.once('SIGTERM', () => {
  server.close();
  void receiver.stop().then(() => server.closeAllConnections());
});
