/** Holds the write lock of a database for as long as it lives: its one argument is the file, as JSON. */
import { createReceiver } from '../../src/index.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };
const { database: connection } = createReceiver({
  headers: { 'x-key': 'key' },
  database,
  logger: { level: 'silent' },
});
connection.exec('begin immediate');
process.stdout.write(`${JSON.stringify({ locked: true })}\n`);
// Something to wait for, so that the process goes on until it is killed.
setInterval(() => connection, 60_000);
