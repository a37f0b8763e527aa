/**
 * An app that moves to another folder between opening its database and starting. Its one argument is a JSON object
 * with the two folders. It prints how a delivery is answered.
 */
import { createReceiver } from '../../../src/index.ts';
import { bodyOf, deliver, secret } from '../../support/deliveries.ts';

const { home, elsewhere } = JSON.parse(process.argv[2] ?? '{}') as { home: string; elsewhere: string };

process.chdir(home);
const receiver = createReceiver({ secrets: secret, database: './inbox.db', logger: { level: 'silent' } });
receiver.database.exec('create table notes (text text)');
process.chdir(elsewhere);
await receiver.start();
const { status } = await deliver(receiver, bodyOf());
process.stdout.write(`${JSON.stringify({ status })}\n`);
await receiver.stop();
