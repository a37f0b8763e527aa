import type Database from 'better-sqlite3';
import type { LivingProcess } from '../../handler-store.ts';
import { type ProcessIdentity, type ProcessStatus, statusOf } from './process-identity.ts';

interface ProcessRow {
  readonly id: number;
  readonly identity: string;
  readonly heartbeats: number;
  /** 1 if the process said in its last heartbeat that it judges others by theirs. */
  readonly countsHeartbeats: number;
  /** The names of its handlers, as JSON; null until it has announced them. */
  readonly handlers: string | null;
}

/** How many looks in a row must find a process silent for it to count as dead. */
const maxMissedHeartbeats = 3;

/** The heartbeats of another process at the last look, and for how many looks they have not changed. */
interface Look {
  readonly heartbeats: number;
  readonly missedHeartbeats: number;
}

/** The process under whose id claims are written. */
export interface Holder {
  readonly id: number;
  /**
   * Enters the process again, under the same id, if another process has removed it as dead because it was blocked too
   * long. Claims under an id without a row would never be taken over.
   */
  ensureEntered(): void;
}

/** A process and the files that it has open; a database in memory has none. */
export interface OwnProcess {
  readonly identity: ProcessIdentity;
  readonly marks: FileMarks | undefined;
  /**
   * Whether only `close` closes the database. When a worker thread is terminated, the driver closes it instead and
   * removes its WAL, although the process has not left.
   */
  readonly closesOnlyByItself: boolean;
}

interface FileMarks {
  readonly database: string;
  readonly wal: string;
}

/**
 * The processes that share one database file. Each has a row, whose id marks its claims. A process is dead if the
 * kernel says so, or, where the kernel can't be asked (another container, a hidden /proc), if its heartbeats stop
 * although it could have written. Heartbeats are counted, not dated, so that no process is taken for dead because the
 * wall clock jumps.
 */
export class Processes implements Holder {
  readonly #own: ProcessIdentity;
  /** The identity of this process, as stored. */
  readonly #identity: string;
  readonly #marks: FileMarks | undefined;
  readonly #looks = new Map<number, Look>();
  readonly #insert: Database.Statement;
  readonly #enterAgain: Database.Statement;
  readonly #delete: Database.Statement;
  readonly #selectAll: Database.Statement;
  readonly #updateHeartbeats: Database.Statement;
  readonly #selectWithoutWal: Database.Statement;
  readonly #forgetWal: Database.Statement;
  #id: number;
  /** The handlers that this process has announced. Each heartbeat repeats them, because a process may get a new row. */
  #handlers: readonly string[] | null = null;

  /** `id`: the id under which the process has entered; 0 before that. */
  constructor(database: Database.Database, { identity, marks, closesOnlyByItself }: OwnProcess, id = 0) {
    this.#own = identity;
    this.#marks = marks;
    this.#identity = JSON.stringify({ ...identity, ...(closesOnlyByItself ? marks : {}) });
    this.#id = id;
    this.#enterAgain = database.prepare(
      'insert into processes (id, identity) values (?, ?) on conflict do nothing',
    );
    this.#insert = database.prepare('insert into processes (identity) values (?)');
    this.#delete = database.prepare('delete from processes where id = ?');
    this.#selectAll = database.prepare(`
      select id, identity, heartbeats, coalesce(json_extract(identity, '$.countsHeartbeats'), 0) as countsHeartbeats,
        json_extract(identity, '$.handlers') as handlers
      from processes order by id`);
    this.#updateHeartbeats = database.prepare(`
      update processes set heartbeats = heartbeats + 1,
        identity = json_set(identity, '$.countsHeartbeats', json(?), '$.handlers', json(?))
      where id = ?`);
    this.#selectWithoutWal = database
      .prepare(
        `select count(*) from processes where json_extract(identity, '$.database') = @database
           and json_extract(identity, '$.wal') <> @wal`,
      )
      .pluck();
    this.#forgetWal = database.prepare(`
      update processes set identity = json_remove(identity, '$.wal')
      where id = @id and json_extract(identity, '$.wal') = @wal`);
  }

  /** The id under which this process claims. */
  get id(): number {
    return this.#id;
  }

  /** Enters this process, and returns its id. */
  enter(): number {
    this.#id = Number(this.#insert.run(this.#identity).lastInsertRowid);
    return this.#id;
  }

  /** Notes that this process has entered through another connection. */
  entered(id: number): void {
    this.#id = id;
  }

  /** Whether no other process shares the file, as far as the kernel can tell. */
  isAlone(): boolean {
    return this.#others('alive').length + this.#others('unknown').length === 0;
  }

  /** Writes a heartbeat, and whether this process judges others by theirs. */
  heartbeat(countsHeartbeats: boolean): void {
    this.ensureEntered();
    this.#updateHeartbeats.run(JSON.stringify(countsHeartbeats), JSON.stringify(this.#handlers), this.id);
  }

  /** Announces this process's handlers. Returns those of each other process that isn't dead and has announced its own. */
  announce(handlers: readonly string[], countsHeartbeats: boolean): string[][] {
    this.#handlers = handlers;
    this.heartbeat(countsHeartbeats);
    const others = [...this.#others('alive'), ...this.#others('unknown')];
    return others.flatMap(({ handlers: known }) => (known === null ? [] : [JSON.parse(known) as string[]]));
  }

  /** This process, and the others that are not known to be dead. */
  living(): LivingProcess[] {
    const dead = this.dead();
    return this.#rows()
      .filter(({ id }) => !dead.includes(id))
      .map(({ id, handlers }) => ({
        id,
        handlers: handlers === null ? [] : (JSON.parse(handlers) as string[]),
        isThis: id === this.id,
      }));
  }

  /** Whether this process judges others by their heartbeats, because the kernel can't be asked about them. */
  countsHeartbeats(): boolean {
    return this.#others('unknown').length > 0;
  }

  ensureEntered(): void {
    this.#enterAgain.run(this.#id, this.#identity);
  }

  /**
   * Whether a process that has not left had this database open with another WAL than the present one. SQLite keeps a
   * WAL while a process has it open, and after a crash until the next process has recovered it: so somebody has deleted
   * that WAL, and what it held is lost. A copy of the database doesn't count: it is another file.
   */
  isWalMissing(): boolean {
    return this.#marks !== undefined && this.#selectWithoutWal.get(this.#marks) !== 0;
  }

  /** Forgets the WAL of dead processes: this one has recovered it, and the last one to close it removes it. */
  forgetWals(): void {
    if (!this.#marks) return;
    const { wal } = this.#marks;
    const others = [...this.#others('dead'), ...this.#others('unknown')];
    for (const { id } of others) this.#forgetWal.run({ id, wal });
  }

  /** Forgets this process's WAL: the driver is about to close the database, which removes it. */
  forgetOwnWal(): void {
    if (this.#marks) this.#forgetWal.run({ id: this.id, wal: this.#marks.wal });
  }

  /** Removes a process that has left or died. */
  remove(id: number): void {
    this.#delete.run(id);
    this.#looks.delete(id);
  }

  /** The processes that are dead according to the kernel. */
  dead(): number[] {
    return this.#others('dead').map(({ id }) => id);
  }

  /**
   * Whether this process must write heartbeats even if it holds nothing, because another may judge it by them. It can't
   * know what others can ask the kernel, so each says with its own heartbeat that it counts those of others. This
   * process's own row counts too, so that it takes back what it has said there.
   */
  isWatched(): boolean {
    return (
      this.#others('unknown').length > 0 ||
      this.#rows().some(({ countsHeartbeats }) => countsHeartbeats === 1)
    );
  }

  /**
   * Looks at the heartbeats of processes about which the kernel can't be asked. Returns those silent for so long that
   * they count as dead. Call it only when this process can write, so that the others could have written too.
   */
  lookAtSilent(): number[] {
    return this.#others('unknown').flatMap(({ id, heartbeats }) => {
      const last = this.#looks.get(id);
      const missedHeartbeats = last?.heartbeats === heartbeats ? last.missedHeartbeats + 1 : 0;
      this.#looks.set(id, { heartbeats, missedHeartbeats });
      return missedHeartbeats >= maxMissedHeartbeats ? [id] : [];
    });
  }

  /** Counts missed heartbeats from zero again: while no process could write, a missing heartbeat proves nothing. */
  forgiveMissedHeartbeats(): void {
    this.#looks.clear();
  }

  #others(status: ProcessStatus): ProcessRow[] {
    return this.#rows().filter(
      ({ id, identity }) =>
        id !== this.id && statusOf(JSON.parse(identity) as ProcessIdentity, this.#own) === status,
    );
  }

  #rows(): ProcessRow[] {
    return this.#selectAll.all() as ProcessRow[];
  }
}
