import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Where Linux keeps files in memory. */
const memory = '/dev/shm';
/** Enough room for all databases of the tests that run at the same time, in bytes. */
const enough = 2 * 1024 ** 3;

/**
 * The folder of the tests' databases: in memory, if there is room. On a disk that is slow because other processes write
 * to it, deliveries would be answered 503.
 */
export const databasesFolder = hasRoom(memory) ? memory : tmpdir();

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= enough;
  } catch {
    return false;
  }
}
