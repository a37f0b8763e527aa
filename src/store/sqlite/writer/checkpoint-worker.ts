/** The checkpoint thread: it checkpoints the WAL while commits go on. The writer thread would delay every answer. */
import { workerData } from 'node:worker_threads';
import {
  type CheckpointThreadData,
  checkpointed,
  ended,
  ending,
  failed,
  idle,
  passiveCheckpoint,
  wanted,
} from './checkpoints.ts';
import { connectAgain } from '../connection/connection.ts';
import { DatabaseFiles } from '../connection/database-files.ts';

/**
 * Commits add much to the WAL during the first pass, and little during the second, which the writer thread checkpoints.
 */
const passes = 2;

const { file, files: ids, state } = workerData as CheckpointThreadData;
const database = connectAgain(file, ids);
const files = new DatabaseFiles(database, file, ids);
// Prepared once: this thread never returns to its event loop, so statements dropped in the loop would not be freed.
const checkpoint = database.prepare(passiveCheckpoint);

for (;;) {
  Atomics.wait(state, 0, idle);
  Atomics.wait(state, 0, checkpointed);
  // Until the writer thread tries again: without this wait, a disk that refuses would keep a core busy.
  Atomics.wait(state, 0, failed);
  if (Atomics.load(state, 0) === ending) break;
  Atomics.compareExchange(state, 0, wanted, succeeds() ? checkpointed : failed);
}
database.close();
Atomics.store(state, 0, ended);
Atomics.notify(state, 0);

/**
 * Checkpoints. Returns false if the disk refuses, for example because it is full, or if the files were replaced: then
 * their WAL stays as it is, and the writer thread finds out before it acknowledges more.
 */
function succeeds(): boolean {
  try {
    if (files.changed() !== undefined) return false;
    for (let pass = 0; pass < passes; pass += 1) checkpoint.get();
    return true;
  } catch {
    return false;
  }
}
