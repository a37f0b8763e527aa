/**
 * A process that only waits: for a locked database, then for a run that never ends by itself. Its one argument is the
 * database. It prints a line after each wait, to show that it did not end early.
 */
import Database from 'better-sqlite3';
import { createReceiver } from '../../src/index.ts';
import { bodyOf, deliver, secret } from './deliveries.ts';
import { clockWithoutWriteTimeout } from './clock-without-write-timeout.ts';

const database = process.argv[2] ?? '';
const say = (field: string) => process.stdout.write(`${JSON.stringify({ [field]: true })}\n`);

const begun = Promise.withResolvers<void>();
// Without that timeout, because the writer gives up a delivery that is too late for its sender: no run would ever begin.
const receiver = createReceiver({
  secrets: secret,
  database,
  clock: clockWithoutWriteTimeout,
  logger: { level: 'silent' },
});
receiver.on('*', () => {
  begun.resolve();
  return new Promise(() => {});
});
await receiver.start();

const other = new Database(database);
other.exec('begin immediate');
// Unreferenced, so that only the receiver keeps the process alive until then.
setTimeout(() => other.exec('rollback'), 300).unref();
await deliver(receiver, bodyOf());
say('delivered');
other.close();

await begun.promise;
await receiver.stop({ drain: '50ms' });
say('stopped');
