import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Where Linux keeps files in memory. */
const memory = '/dev/shm';
/** Enough room for all databases of the tests that run at the same time, in bytes. */
const enough = 2 * 1024 ** 3;

/**
 * Where the tests' databases are: in memory, if there is room. The tests don't depend on the disk, but on a disk that
 * is slow because others write to it, deliveries would be answered with 503.
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
