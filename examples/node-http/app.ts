/**
 * The receiver in a server of node:http, without a framework. Copy it into a project of your own:
 *
 *   npm install ringback
 *   WEBHOOK_SECRET=whsec_… node app.ts
 *
 * It expects a proxy that terminates TLS on the same machine, as in ../behind-nginx.
 */
import { createServer } from 'node:http';
import { createReceiver } from 'ringback';

const receiver = createReceiver({
  secrets: process.env['WEBHOOK_SECRET'],
  database: process.env['DATABASE'] ?? './calls.db',
  https: { trustProxy: 'loopback' },
});

receiver.on('CallHandler.CallEnded', { name: 'note-call' }, (event, ctx) => {
  ctx.log.info({ status: event.payload.status }, 'a call has ended');
});

const takeDelivery = receiver.nodeHandler();
const server = createServer((request, response) => {
  const [path] = (request.url ?? '/').split('?');
  if (path === '/webhooks/calls') return takeDelivery(request, response);
  if (path === '/counts') return void answerCounts().catch(() => response.writeHead(500).end());
  response.writeHead(404).end();

  async function answerCounts(): Promise<void> {
    const counts = await receiver.counts();
    response.setHeader('content-type', 'application/json').end(JSON.stringify(counts));
  }
});
// Longer than a proxy in front keeps an idle connection: it might send a delivery on one that is just being closed.
server.keepAliveTimeout = 75_000;

await receiver.start();
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ event: 'listening', address: server.address() })}\n`);
});

process.once('SIGTERM', () => {
  server.close();
  void receiver.stop().then(() => server.closeAllConnections());
});
