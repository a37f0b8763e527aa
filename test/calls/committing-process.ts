/**
 * Several busy receivers in a process of its own, each with a database of its own, for the test to kill. Its one
 * argument is the list of databases, as JSON. It prints `answered` when the first call is answered: all are busy then.
 */
import { createReceiver } from '../../src/index.ts';
import { secret } from '../support/deliveries.ts';
import { committing, reportCall } from './committing.ts';

const databases = JSON.parse(process.argv[2] ?? '[]') as string[];

const receivers = databases.map((database) => {
  const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
  committing(receiver);
  return receiver;
});
await Promise.all(receivers.map((receiver) => receiver.start()));
await Promise.race(receivers.map(reportCall));
process.stdout.write(`${JSON.stringify({ answered: true })}\n`);
// Delivers calls until the process is killed.
await Promise.all(
  receivers.map(async (receiver) => {
    for (;;) await reportCall(receiver);
  }),
);
