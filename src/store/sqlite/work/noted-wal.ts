import type Database from 'better-sqlite3';
import type { FileMarks } from '../connection/database-files.ts';

/**
 * The WAL that processes have open, as noted in the database, so that the next start finds out whether somebody has
 * deleted it: SQLite keeps a WAL while a process has it open, and after a crash until the next process has recovered
 * it. `note` and `forget` run inside a transaction of the caller's, except where the process ends.
 */
export function prepareNotedWal(database: Database.Database) {
  const select = database.prepare("select value from settings where name = 'wal'").pluck();
  const write = database.prepare(`
    insert into settings values ('wal', ?)
    on conflict do update set value = excluded.value where value <> excluded.value`);
  const remove = database.prepare("delete from settings where name = 'wal'");

  const noted = (): FileMarks | undefined => {
    const value = select.get() as string | undefined;
    return value === undefined ? undefined : (JSON.parse(value) as FileMarks);
  };

  return {
    isNoted: (): boolean => noted() !== undefined,

    /**
     * Whether the WAL that was noted is not the present one, so that what it held is lost. A copy of the database
     * doesn't count: it is another file.
     */
    isMissing(present: FileMarks): boolean {
      const { database: of, wal } = noted() ?? present;
      return of === present.database && wal !== present.wal;
    },

    /**
     * Whether a process has the noted WAL open with another index than the present one. Call it only after
     * `markDeadProcesses`, which removes the note if no process has the file open.
     */
    hasOtherIndex(present: FileMarks): boolean {
      const { database: of, wal, index } = noted() ?? present;
      return of === present.database && wal === present.wal && index !== present.index;
    },

    note: (present: FileMarks): void => void write.run(JSON.stringify(present)),

    /**
     * Call when this process is about to close the database: if it is the last one, SQLite removes the WAL. If it isn't,
     * another one notes it again with its next heartbeat.
     */
    forget: (): void => void remove.run(),
  };
}
