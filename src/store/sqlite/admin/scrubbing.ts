import type Database from 'better-sqlite3';
import type { Scrubbed } from '../../retention-store.ts';
import { isFailedSync } from '../connection/connection.ts';

/**
 * Removes erased data from the files. The WAL still has the pages as they were: a checkpoint empties it.
 * `secure_delete` overwrites a row where it lies, but not copies left in unused parts of pages when rows were moved:
 * only rewriting the whole database removes those.
 */
export function prepareScrubbing(database: Database.Database) {
  const want = database.prepare(`
    insert into settings values ('scrubbing', '1') on conflict do update set value = value + 1`);
  const wanted = database.prepare("select value from settings where name = 'scrubbing'").pluck();
  const done = database.prepare("delete from settings where name = 'scrubbing' and value = ?");

  return {
    /** Notes, in the transaction that erases, that scrubbing is needed, so that it is done even after a crash. */
    want: (): void => void want.run(),

    /** Whether any process has erased something since the files were last scrubbed, and the size of the database. */
    state(): { readonly isWanted: boolean; readonly size: number } {
      const pages = database.pragma('page_count', { simple: true }) as number;
      const size = pages * (database.pragma('page_size', { simple: true }) as number);
      return { isWanted: wanted.get() !== undefined, size };
    },

    /** `isRetry`: rewrites only if no reader is in the way, because every rewriting goes into the WAL as a whole. */
    scrub({ compact, isRetry }: { readonly compact: boolean; readonly isRetry: boolean }): Scrubbed {
      const asked = wanted.get();
      if (isRetry && !succeeds(() => checkpoint(database))) return { checkpointed: false, compacted: false };
      const compacted = compact && succeeds(() => void database.exec('vacuum'));
      const checkpointed = succeeds(() => checkpoint(database));
      // If another process has erased something since, the number has changed, and another scrubbing is needed.
      if (checkpointed && compacted === compact && asked !== undefined) succeeds(() => void done.run(asked));
      return { checkpointed, compacted };
    },
  };
}

function checkpoint(database: Database.Database): void {
  const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  if (result?.busy !== 0) throw new Error('busy');
}

/**
 * Whether the work succeeds: other processes or a full disk may prevent it.
 *
 * @throws if the disk refuses a sync: see `WriterThread.#checkpoint`
 */
function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (isFailedSync(error)) throw error;
    return false;
  }
}
