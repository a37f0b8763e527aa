/**
 * A receiver in a process of its own, as it is in production: what the test kills. Its one argument says, as JSON, where
 * its inbox is and what signs its deliveries. It says `port` when it listens.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver } from '../../src/index.ts';
import { recording } from './receiver-process-handlers.ts';

/** What the process is told. */
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
