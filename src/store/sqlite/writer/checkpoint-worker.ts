/**
 * The checkpoint thread: it writes the log's pages back to the database while commits go on. On the commit thread that
 * would hold up every answer for as long as it takes.
 */
import { workerData } from 'node:worker_threads';
import { Checkpoint } from './checkpoint.ts';
import {
  type CheckpointThreadData,
  checkpointed,
  ended,
  ending,
  failed,
  idle,
  wanted,
} from './checkpoints.ts';
import { connectAgain } from '../connection/connection.ts';
import { DatabaseFiles } from '../connection/database-files.ts';
import { DatabaseFile } from '../connection/database-file.ts';
import { LogIndex } from '../connection/wal-index.ts';

/**
 * Commits add much to the log during the first pass, and little during the second: that is left to the commit thread.
 */
const passes = 2;

const { file, files: ids, state } = workerData as CheckpointThreadData;
const database = connectAgain(file, ids);
const files = new DatabaseFiles(database, file, ids);
const databaseFile = new DatabaseFile(database);
// Prepared once: this thread never goes back to its event loop, where statements that were thrown away would be freed.
const checkpoint = new Checkpoint(database, new LogIndex(database), 'PASSIVE');

for (;;) {
  Atomics.wait(state, 0, idle);
  Atomics.wait(state, 0, checkpointed);
  if (Atomics.load(state, 0) === ending) break;
  Atomics.compareExchange(state, 0, wanted, succeeds() ? checkpointed : failed);
}
database.close();
Atomics.store(state, 0, ended);
Atomics.notify(state, 0);

/**
 * Writes the log back. False when the disk refuses, such as when it is full: that is tried again later. The WAL of a
 * database that was deleted or replaced stays as it is: the commit thread finds that out before it acknowledges more.
 */
function succeeds(): boolean {
  if (files.changed() !== undefined) return false;
  try {
    for (let pass = 0; pass < passes; pass += 1) checkpoint.run(() => databaseFile.sync());
    return true;
  } catch {
    return false;
  }
}
