/**
 * The least that any durable receiver on one SQLite file does: node:http reads the body, a writer thread writes what
 * has come in with one FULL commit, and then it is answered. Nothing is verified, read, recognized as a duplicate,
 * claimed, handled or marked done.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { databaseFile, serve } from './common.ts';

/** Bodies in one message, because one message each way is the least that a group takes. */
interface Group {
  readonly bodies: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
}

if (isMainThread) receive(await openCommitThread(databaseFile()));
else commitGroups(workerData as string);

/** The thread's first message means that the tables are ready. */
function openCommitThread(file: string): Promise<Worker> {
  const worker = new Worker(new URL(import.meta.url), { workerData: file });
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve(worker)).once('error', reject);
  });
}

function receive(worker: Worker): void {
  const answer = JSON.stringify({ status: 'accepted' });
  const headers = { 'content-type': 'application/json', 'content-length': answer.length };
  let bodies: Uint8Array[] = [];
  let unanswered: ServerResponse[] = [];
  let committing: ServerResponse[] = [];

  const commit = () => {
    const lengths = bodies.map(({ length }) => length);
    // Not from Node's pool, whose buffers can't be transferred.
    const all = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let end = 0;
    for (const body of bodies) {
      all.set(body, end);
      end += body.length;
    }
    committing = unanswered;
    [bodies, unanswered] = [[], []];
    worker.postMessage({ bodies: all, lengths } satisfies Group, [all.buffer]);
  };
  worker.on('message', () => {
    const committed = committing;
    committing = [];
    if (bodies.length > 0) commit();
    for (const response of committed) response.writeHead(200, headers).end(answer);
  });
  serve(
    createServer((request: IncomingMessage, response) => {
      const chunks: Uint8Array[] = [];
      request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks));
        unanswered.push(response);
        if (committing.length === 0) commit();
      });
    }),
    {
      stop: async () => {
        await worker.terminate();
      },
    },
  );
}

function commitGroups(file: string): void {
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  // Ten times the usual interval, because a checkpoint on this thread delays all answers.
  database.pragma('wal_autocheckpoint = 10000');
  database.exec('create table events (body blob)');
  const insert = database.prepare('insert into events values (?)');
  const write = database.transaction(({ bodies, lengths }: Group) => {
    let start = 0;
    for (const length of lengths) {
      insert.run(bodies.subarray(start, start + length));
      start += length;
    }
  });
  parentPort?.on('message', (group: Group) => {
    write(group);
    parentPort?.postMessage('committed', []);
  });
  parentPort?.postMessage('opened', []);
}
