import { hostname } from 'node:os';
import type Database from 'better-sqlite3';
import type { LivingProcess } from '../../handler-store.ts';

interface ProcessRow {
  readonly id: number;
  readonly heartbeats: number;
  /** 1 once a process that began alone has found its row. */
  readonly isDead: number;
  /** The names of its handlers, as JSON; null until it has announced them. */
  readonly handlers: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly enteredAt: number | null;
}

/** How many looks in a row must find no heartbeat of a process for it to count as dead. */
const maxMissedHeartbeats = 3;

/** The heartbeats of another process at the last look, and for how many looks they have not changed. */
interface Look {
  readonly heartbeats: number;
  readonly missedHeartbeats: number;
}

/**
 * The processes that share one database file. Each has a row, whose id marks its claims. A process is dead if another
 * one has found the file open nowhere (`mark-dead.ts`), or if its heartbeats stop although it could have written.
 * Heartbeats are counted, not dated, so that no process is taken for dead because the wall clock jumps.
 */
export class Processes {
  #looks: ReadonlyMap<number, Look> = new Map();
  readonly #insert: Database.Statement;
  readonly #describe: Database.Statement;
  readonly #has: Database.Statement;
  readonly #delete: Database.Statement;
  readonly #selectAll: Database.Statement;
  readonly #countHeartbeat: Database.Statement;
  readonly #updateHandlers: Database.Statement;
  /** The id under which this process claims; 0 before it has entered. */
  id: number;
  /**
   * The handlers that this process has announced, as JSON: it may have to enter again. A connection that was opened anew
   * learns them from the process's row.
   */
  #handlers: string | null = null;

  constructor(database: Database.Database, id = 0) {
    this.id = id;
    this.#insert = database.prepare('insert into processes (handlers) values (?)');
    this.#describe = database
      .prepare(
        `update processes set host = ?, pid = ?, entered_at = ?,
           handlers = coalesce(handlers, (select handlers from processes where id = ?)) where id = ? returning handlers`,
      )
      .pluck();
    this.#has = database.prepare('select 1 from processes where id = ?');
    this.#delete = database.prepare('delete from processes where id = ?');
    this.#selectAll = database.prepare(
      `select id, heartbeats, is_dead as isDead, handlers, host, pid, entered_at as enteredAt
       from processes order by id`,
    );
    this.#countHeartbeat = database
      .prepare('update processes set heartbeats = heartbeats + 1 where id = ? returning handlers')
      .pluck();
    this.#updateHandlers = database.prepare('update processes set handlers = ? where id = ?');
  }

  /**
   * Enters this process, unless a write that came first has done so, and returns its id. It has the handlers that it
   * has announced under `former`, its id so far.
   */
  enter(now: number, former: number): number {
    this.ensureEntered();
    this.#handlers = this.#describe.get(hostname(), process.pid, now, former, this.id) as string | null;
    return this.id;
  }

  /**
   * Enters this process again, under another id, if another process has removed it as dead because it was blocked too
   * long: what it held under the former id is lost. Claims under an id without a row would never be taken over.
   */
  ensureEntered(): void {
    if (this.#has.get(this.id) !== undefined) return;
    this.id = Number(this.#insert.run(this.#handlers).lastInsertRowid);
  }

  heartbeat(): void {
    this.ensureEntered();
    this.#handlers = this.#countHeartbeat.get(this.id) as string | null;
  }

  /** Announces this process's handlers. Returns those of each other process that isn't dead and has announced its own. */
  announce(handlers: readonly string[]): string[][] {
    this.#handlers = JSON.stringify(handlers);
    this.ensureEntered();
    this.#updateHandlers.run(this.#handlers, this.id);
    return this.#others().flatMap((other) => (other.handlers === null ? [] : [handlersOf(other)]));
  }

  /** This process, and the others that are not known to be dead. */
  living(): LivingProcess[] {
    const rows = this.#rows().filter(({ isDead }) => isDead === 0);
    return rows.map((row) => ({
      id: row.id,
      host: row.host ?? undefined,
      pid: row.pid ?? undefined,
      enteredAt: row.enteredAt ?? undefined,
      heartbeatAt: undefined,
      handlers: handlersOf(row),
      isThis: row.id === this.id,
    }));
  }

  /** Whether any other process that is not known to be dead shares the file. */
  hasOthers(): boolean {
    return this.#others().length > 0;
  }

  /** The others that are known to be dead. */
  dead(): number[] {
    return this.#others(1).map(({ id }) => id);
  }

  /** Removes a process that has left or died. */
  remove(id: number): void {
    this.#delete.run(id);
  }

  /**
   * Looks at the heartbeats of the other processes. Returns those without one for so long that they count as dead.
   * Call it only when this process can write, so that the others could have written too.
   */
  withoutHeartbeats(): number[] {
    const looks = this.#others().map(({ id, heartbeats }) => {
      const last = this.#looks.get(id);
      const missedHeartbeats = last?.heartbeats === heartbeats ? last.missedHeartbeats + 1 : 0;
      return [id, { heartbeats, missedHeartbeats }] as const;
    });
    this.#looks = new Map(looks);
    return looks
      .filter(([, { missedHeartbeats }]) => missedHeartbeats >= maxMissedHeartbeats)
      .map(([id]) => id);
  }

  /** Counts missed heartbeats from zero again: while no process could write, a missing heartbeat proves nothing. */
  forgiveMissedHeartbeats(): void {
    this.#looks = new Map();
  }

  #others(isDead = 0): ProcessRow[] {
    return this.#rows().filter((row) => row.id !== this.id && row.isDead === isDead);
  }

  #rows(): ProcessRow[] {
    return this.#selectAll.all() as ProcessRow[];
  }
}

function handlersOf({ handlers }: ProcessRow): string[] {
  return handlers === null ? [] : (JSON.parse(handlers) as string[]);
}
