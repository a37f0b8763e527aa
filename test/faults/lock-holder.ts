/** Holds the write lock of a database until it is killed. Its one argument is a JSON object with the file. */
import Database from 'better-sqlite3';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };
const connection = new Database(database);
connection.exec('begin immediate');
process.stdout.write(`${JSON.stringify({ locked: true })}\n`);
// A timer keeps the process alive until it is killed.
setInterval(() => connection, 60_000);
