/**
 * The checkpoint thread: it writes the log's pages back to the database while commits go on. On the commit thread that
 * would hold up every answer for as long as it takes.
 */
import { workerData } from 'node:worker_threads';
import {
  type CheckpointThreadData,
  checkpointed,
  ended,
  ending,
  idle,
  prepareCheckpoint,
  wanted,
} from './checkpoints.ts';
import { connect } from './connection.ts';
import { DatabaseFile } from './database-file.ts';

/**
 * Commits add much to the log during the first pass, and little during the second: that is left to the commit thread.
 */
const passes = 2;

const { file, state } = workerData as CheckpointThreadData;
const database = connect(file);
const databaseFile = new DatabaseFile(database);
// Prepared once: this thread never goes back to its event loop, where statements that were thrown away would be freed.
const checkpoint = prepareCheckpoint(database);

for (;;) {
  Atomics.wait(state, 0, idle);
  Atomics.wait(state, 0, checkpointed);
  if (Atomics.load(state, 0) === ending) break;
  // A checkpoint that fails, such as on a full disk, is made up for by the next one.
  try {
    for (let pass = 0; pass < passes; pass += 1) {
      checkpoint.get();
      databaseFile.sync();
    }
  } catch {}
  Atomics.compareExchange(state, 0, wanted, checkpointed);
}
database.close();
Atomics.store(state, 0, ended);
Atomics.notify(state, 0);
