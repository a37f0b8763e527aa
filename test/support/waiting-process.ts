/**
 * A process with nothing to do but wait: for a database that is locked, then for a run that never ends by itself.
 * Its one argument is the database. It says each thing that it has lived to see.
 */
import Database from 'better-sqlite3';
import { createReceiver } from '../../src/index.ts';
import { bodyOf, deliver, secret } from './deliveries.ts';

const database = process.argv[2] ?? '';
const say = (field: string) => process.stdout.write(`${JSON.stringify({ [field]: true })}\n`);

const begun = Promise.withResolvers<void>();
const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
receiver.on('*', () => {
  begun.resolve();
  return new Promise(() => {});
});
await receiver.start();

const other = new Database(database);
other.exec('begin immediate');
// Unreferenced: what keeps the process alive until then must be the receiver.
setTimeout(() => other.exec('rollback'), 300).unref();
await deliver(receiver, bodyOf());
say('delivered');
other.close();

await begun.promise;
await receiver.stop({ drain: 50 });
say('stopped');
