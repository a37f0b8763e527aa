/** The receiver with its handlers. */
import { inspect } from 'node:util';
import { type Receiver, createReceiver } from 'ringback';

/** Next may load this file several times in one process, and a process has one receiver. */
const kept = globalThis as { receiver?: Promise<Receiver> };

/** The receiver, once it has started. */
export function started(): Promise<Receiver> {
  return (kept.receiver ??= start().catch(end));
}

/** Without this, Next would go on and answer every request with 500, even once a database that was down is back. */
function end(error: unknown): never {
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(1);
}

async function start(): Promise<Receiver> {
  const receiver = createReceiver({
    secrets: process.env['WEBHOOK_SECRET'],
    database: process.env['DATABASE'] ?? './calls.db',
    // A route handler isn't told the proxy's address: nothing but the proxy may reach the server.
    https: { trustProxy: 1 },
  });
  receiver.on('CallHandler.CallEnded', { name: 'note-call' }, (event, ctx) => {
    ctx.log.info({ status: event.payload.status }, 'a call has ended');
  });
  await receiver.start();
  // Active runs finish before the process ends. Next waits for nothing else with NEXT_MANUAL_SIG_HANDLE=true.
  process.once('SIGTERM', () => void receiver.stop().then(() => process.exit(0)));
  return receiver;
}
