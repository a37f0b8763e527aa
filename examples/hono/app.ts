/**
 * The receiver in Hono on Node. Copy it into a project of your own:
 *
 *   npm install hono @hono/node-server ringback
 *   WEBHOOK_SECRET=whsec_… node app.ts
 *
 * It expects a proxy that terminates TLS on the same machine, as in ../behind-nginx.
 */
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'ringback';

const receiver = createReceiver({
  secrets: process.env['WEBHOOK_SECRET'],
  database: process.env['DATABASE'] ?? './calls.db',
  https: { trustProxy: 'loopback' },
});

receiver.on('CallHandler.CallEnded', { name: 'note-call' }, (event, ctx) => {
  ctx.log.info({ status: event.payload.status }, 'a call has ended');
});

const app = new Hono<{ Bindings: HttpBindings }>();
// Before a middleware that reads bodies or refuses long ones, such as hono/body-limit.
app.all('/webhooks/calls', (context) => {
  const { socket } = context.env.incoming;
  // A Request says neither who sent it nor, on this server, whether it came over TLS: its URL is what the sender wrote.
  const connection = { peerAddress: socket.remoteAddress, encrypted: 'encrypted' in socket };
  return receiver.fetch(context.req.raw, connection);
});
app.get('/counts', async (context) => context.json(await receiver.counts()));

await receiver.start();
const server = serve(
  {
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: Number(process.env['PORT'] ?? 8080),
    // Longer than a proxy in front keeps an idle connection: it might send a delivery on one that is just being closed.
    serverOptions: { keepAliveTimeout: 75_000 },
  },
  (address) => {
    process.stdout.write(`${JSON.stringify({ event: 'listening', address })}\n`);
  },
);

process.once('SIGTERM', () => {
  server.close();
  void receiver.stop().then(() => 'closeAllConnections' in server && server.closeAllConnections());
});
