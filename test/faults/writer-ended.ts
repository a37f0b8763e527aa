/**
 * A receiver whose writer thread ends before it can write, or while there is nothing to write. Its one argument is a
 * JSON object with the file of its database and whether it `isStarting`. It prints a JSON line when it has stopped.
 */
import type { Worker } from 'node:worker_threads';
import { createReceiver } from '../../src/index.ts';
import { turn } from '../support/clock.ts';

const { database, isStarting } = JSON.parse(process.argv[2] ?? '{}') as {
  database: string;
  isStarting: boolean;
};
const begun = Promise.withResolvers<Worker>();
process.once('worker', (thread) => {
  if (isStarting) void thread.terminate();
  begun.resolve(thread);
});
const receiver = createReceiver({ headers: { 'x-key': 'key' }, database, logger: { level: 'silent' } });
const failure = await receiver.start().then(() => undefined, String);
await (await begun.promise).terminate();
await turn();
await receiver.stop();
process.stdout.write(`${JSON.stringify({ stopped: failure ?? true })}\n`);
