/**
 * A receiver that is started and never stopped. Its one argument is a JSON object with the file of its database, and
 * whether its thread goes on. It prints one JSON line.
 */
import { createReceiver } from '../../src/index.ts';

const { database, stays } = JSON.parse(process.argv[2] ?? '{}') as { database: string; stays?: boolean };
const receiver = createReceiver({ headers: { 'x-key': 'key' }, database, logger: { level: 'silent' } });
await receiver.start();
process.stdout.write(`${JSON.stringify({ started: true })}\n`);
if (stays) setInterval(() => receiver, 60_000);
