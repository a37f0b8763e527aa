/** A receiver in a worker thread, whose one event is never handled to its end. */
import { type MessagePort, workerData } from 'node:worker_threads';
import { createReceiver } from '../../src/index.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';

const { database, port } = workerData as { database: string; port: MessagePort };
const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
receiver.on('*', { name: 'handler' }, () => {
  port.postMessage('begun');
  return new Promise(() => {});
});
await receiver.start();
await deliver(receiver, bodyOf({ traceId: 'held' }));
setInterval(() => {}, 60_000);
