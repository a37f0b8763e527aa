/**
 * Replays every event of an inbox, and is killed in the middle by the first replayed run. Its one argument is a JSON
 * object with the database.
 */
import { createReceiver } from '../../src/index.ts';
import { secret } from '../support/deliveries.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };

const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
receiver.on('*', { name: 'deadly' }, () => process.kill(process.pid, 'SIGKILL'));
await receiver.start();
process.stdout.write(`${JSON.stringify({ started: true })}\n`);
await receiver.events.replay({ since: 0 }, { by: 'a test' });
process.stdout.write(`${JSON.stringify({ survived: true })}\n`);
