/**
 * Dismisses every dead letter of an inbox, and is killed in the middle. Its one argument is a JSON object with the
 * database.
 */
import Database from 'better-sqlite3';
import { createReceiver } from '../../src/index.ts';
import { secret } from '../support/deliveries.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };

const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
await receiver.start();
const onlooker = new Database(database, { readonly: true });
const anyDone = onlooker.prepare("select 1 from runs where state = 'done' limit 1");
const look = (): void => {
  if (anyDone.get() !== undefined) process.kill(process.pid, 'SIGKILL');
  setImmediate(look);
};
look();
await receiver.events.dismiss({ state: 'dead' }, { by: 'the first', reason: 'a test' });
process.stdout.write(`${JSON.stringify({ survived: true })}\n`);
