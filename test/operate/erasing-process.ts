/**
 * A script that only erases, while somebody reads the log. Its one argument is a JSON object with the database. It
 * prints what was erased.
 */
import Database from 'better-sqlite3';
import { createReceiver } from '../../src/index.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { secret } from '../support/deliveries.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };

// Timeouts end sooner by this clock, but its timers are those that an app has.
const clock = { ...systemClock, elapsed: () => systemClock.elapsed() * 20 };
const receiver = createReceiver({ secrets: secret, database, clock, logger: { level: 'silent' } });
await receiver.start();
const reader = new Database(database, { readonly: true });
reader.exec('begin; select count(*) from events');
const erased = await receiver.erase({ callId: 'call-1' });
process.stdout.write(`${JSON.stringify({ erased })}\n`);
await receiver.stop();
