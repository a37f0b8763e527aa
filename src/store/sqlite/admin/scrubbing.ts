import type Database from 'better-sqlite3';
import type { Scrubbed } from '../../retention-store.ts';

/**
 * Removes from the files what was erased from the tables. The write-ahead log still holds the pages as they were:
 * a checkpoint empties it. `secure_delete` overwrites a row where it lies, but not the copies that were left behind
 * in unused parts of other pages when rows were moved there: only writing the whole database anew removes those.
 */
export function prepareScrubbing(database: Database.Database) {
  const want = database.prepare(`
    insert into settings values ('scrubbing', '1') on conflict do update set value = value + 1`);
  const wanted = database.prepare("select value from settings where name = 'scrubbing'").pluck();
  const done = database.prepare("delete from settings where name = 'scrubbing' and value = ?");

  return {
    /**
     * Notes, in the transaction that erases, that scrubbing is needed: so it is done even if the process dies before.
     */
    want: (): void => void want.run(),

    /** Whether any process has erased something since the files were last scrubbed, and the size of the database. */
    state(): { readonly isWanted: boolean; readonly size: number } {
      const pages = database.pragma('page_count', { simple: true }) as number;
      const size = pages * (database.pragma('page_size', { simple: true }) as number);
      return { isWanted: wanted.get() !== undefined, size };
    },

    scrub({ compact }: { readonly compact: boolean }): Scrubbed {
      const asked = wanted.get();
      const compacted = compact && succeeds(() => void database.exec('vacuum'));
      const checkpointed = succeeds(() => checkpoint(database));
      // If another process has erased something since, the number has changed, and that needs a scrubbing of its own.
      if (checkpointed && compacted === compact && asked !== undefined) succeeds(() => void done.run(asked));
      return { checkpointed, compacted };
    },
  };
}

function checkpoint(database: Database.Database): void {
  const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  if (result?.busy !== 0) throw new Error('busy');
}

/** Whether the work succeeds: readers and writers in other processes can stand in its way, and so can a full disk. */
function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
