/**
 * A receiver in a process of its own, as in production, for the test to kill. Its one argument is a JSON object with
 * its database and the secret of its deliveries. It prints `port` when it listens.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver } from '../../src/index.ts';
import { recording } from './receiver-process-handlers.ts';

/** The argument of the process. */
export interface ReceiverProcessOptions {
  readonly database: string;
  readonly secret: string;
}

const { database, secret } = JSON.parse(process.argv[2] ?? '{}') as ReceiverProcessOptions;

const receiver = createReceiver({
  secrets: secret,
  database,
  https: { required: false },
  logger: { level: 'silent' },
});
recording(receiver);
await receiver.start();
const server = createServer(receiver.nodeHandler()).listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void receiver.stop().then(() => process.exit(0));
});
