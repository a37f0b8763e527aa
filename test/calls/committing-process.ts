/**
 * Several receivers in a process of its own, each with a database of its own, all at work: what the test kills. Its
 * one argument is the list of databases, as JSON. It says `ready` when all of them are at work.
 */
import { createReceiver } from '../../src/index.ts';
import { secret } from '../support/deliveries.ts';
import { committing, tellCalls } from './committing.ts';

const databases = JSON.parse(process.argv[2] ?? '[]') as string[];

const receivers = databases.map((database) => {
  const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
  committing(receiver);
  return receiver;
});
await Promise.all(receivers.map((receiver) => receiver.start()));
for (const receiver of receivers) void tellCalls(receiver);
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
