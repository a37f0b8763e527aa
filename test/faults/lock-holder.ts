/** Holds the write lock of a database until it is killed. Its one argument is a JSON object with the file. */
import { createReceiver } from '../../src/index.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };
const { database: connection } = createReceiver({
  headers: { 'x-key': 'key' },
  database,
  logger: { level: 'silent' },
});
connection.exec('begin immediate');
process.stdout.write(`${JSON.stringify({ locked: true })}\n`);
// A timer keeps the process alive until it is killed.
setInterval(() => connection, 60_000);
