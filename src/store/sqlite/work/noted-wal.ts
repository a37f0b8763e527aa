import type Database from 'better-sqlite3';
import type { FileMarks } from '../connection/database-files.ts';

interface Noted extends FileMarks {
  /** Whether SQLite may have removed the WAL, because a process has closed the database since, perhaps the last one. */
  readonly mayBeGone?: true;
}

/**
 * The WAL that processes have open, as noted in the database, so that the next start finds out whether somebody has
 * deleted it: SQLite keeps a WAL while a process has it open, and after a crash until the next process has recovered
 * it. `note` and `leave` run inside a transaction of the caller's, except where the process ends.
 */
export function prepareNotedWal(database: Database.Database) {
  const select = database.prepare("select value from settings where name = 'wal'").pluck();
  const write = database.prepare(`
    insert into settings values ('wal', ?)
    on conflict do update set value = excluded.value where value <> excluded.value`);
  const leave = database.prepare(`
    update settings set value = json_set(value, '$.mayBeGone', json('true')) where name = 'wal'`);
  const remove = database.prepare("delete from settings where name = 'wal'");

  const noted = (): Noted | undefined => {
    const value = select.get() as string | undefined;
    return value === undefined ? undefined : (JSON.parse(value) as Noted);
  };

  return {
    isNoted(): boolean {
      const found = noted();
      return found !== undefined && !found.mayBeGone;
    },

    /**
     * Whether the WAL that was noted is not the present one, so that what it held is lost. A copy of the database
     * doesn't count: it is another file.
     */
    isMissing(present: FileMarks): boolean {
      const { database: of, wal, mayBeGone }: Noted = noted() ?? present;
      return !mayBeGone && of === present.database && wal !== present.wal;
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
     * another one notes it again with its next heartbeat; until then, `hasOtherIndex` must not lose what was noted.
     */
    leave: (): void => void leave.run(),

    /** Call while no process has the database open. */
    forget: (): void => void remove.run(),
  };
}
