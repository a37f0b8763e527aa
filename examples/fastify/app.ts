/**
 * A backend in Fastify with the receiver as a plugin. Copy it into a project of your own:
 *
 *   npm install fastify ringback
 *   WEBHOOK_SECRET=whsec_… node app.ts
 *
 * It expects a proxy that terminates TLS on the same machine, as in ../behind-nginx.
 */
import fastify from 'fastify';
import { createReceiver } from 'ringback';
import { receiverPlugin } from 'ringback/fastify';

const receiver = createReceiver({
  secrets: process.env['WEBHOOK_SECRET'],
  database: process.env['DATABASE'] ?? './calls.db',
  // Not Fastify's own `trustProxy`, which the receiver doesn't see.
  https: { trustProxy: 'loopback' },
});

receiver.on('CallHandler.CallEnded', { name: 'note-call' }, (event, ctx) => {
  ctx.log.info({ status: event.payload.status }, 'a call has ended');
});

const app = fastify();
// Deliveries bypass Fastify's JSON parser and its limit of 1 MB, which transcripts may exceed. The app's hooks do run
// for them: a rate limit or a login must not be among these.
app.register(receiverPlugin, { prefix: '/webhooks/calls', receiver });
app.post('/echo', (request) => request.body);
app.get('/counts', () => receiver.counts());

await receiver.start();
// preClose runs before Fastify closes its server: in onClose, the receiver could stop only after the last connection
// that is kept alive.
app.addHook('preClose', () => receiver.stop());
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 8080) });
process.stdout.write(`${JSON.stringify({ event: 'listening', address: app.server.address() })}\n`);

process.once('SIGTERM', () => void app.close());
