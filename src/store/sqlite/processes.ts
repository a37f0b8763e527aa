import type Database from 'better-sqlite3';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is, well enough to tell later whether it still runs. */
interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
  readonly pid: number;
  readonly startedAt: string;
}

interface ProcessRow {
  readonly id: number;
  readonly identity: string;
  readonly beats: number;
}

/** A process that was found silent so often, one look after the other, is dead. */
const mostSilences = 3;

/** How another process was found, and how often since. */
interface Look {
  readonly beats: number;
  readonly silences: number;
}

/** Under whose id claims are written. */
export interface Holder {
  readonly id: number;
  /**
   * Enters the process again if another one took it for dead (it stood still too long): claims under an id
   * that has no row would never be taken over. Ids are never given twice, so the old one is still its own.
   */
  ensureEntered(): void;
}

/** A holder by its id, on a connection of its own. */
export function holderOf(database: Database.Database, id: number, identity: string): Holder {
  const enter = database.prepare('insert into processes (id, identity) values (?, ?) on conflict do nothing');
  return { id, ensureEntered: () => void enter.run(id, identity) };
}

/**
 * The processes that share one database file. Each has a row; its id marks what it has claimed. A process is
 * dead when the kernel says so, or, where the kernel can't be asked (another container), when its beats stand
 * still although it could have written. Beats are counted, not dated, so that a wall clock that jumps kills nobody.
 */
export class Processes implements Holder {
  readonly #database: Database.Database;
  readonly #own: ProcessIdentity = ownIdentity();
  /** Who this process is, as it is written. */
  readonly identity = JSON.stringify(this.#own);
  readonly #looks = new Map<number, Look>();
  #holder: Holder;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#holder = holderOf(database, 0, this.identity);
  }

  /** The id under which this process claims. */
  get id(): number {
    return this.#holder.id;
  }

  /** Enters this process. */
  join(): void {
    const insert = this.#database.prepare('insert into processes (identity) values (?)');
    const id = Number(insert.run(this.identity).lastInsertRowid);
    this.#holder = holderOf(this.#database, id, this.identity);
  }

  /** Whether no other process shares the file, as far as the kernel can tell. */
  isAlone(): boolean {
    return this.#others('alive').length + this.#others('unknown').length === 0;
  }

  /** Says that this process lives. */
  beat(): void {
    this.ensureEntered();
    this.#database.prepare('update processes set beats = beats + 1 where id = ?').run(this.id);
  }

  ensureEntered(): void {
    this.#holder.ensureEntered();
  }

  /** Removes a process that left or died. */
  remove(id: number): void {
    this.#database.prepare('delete from processes where id = ?').run(id);
    this.#looks.delete(id);
  }

  /** The processes of which the kernel says that they are dead. */
  dead(): number[] {
    return this.#others('dead').map(({ id }) => id);
  }

  /** Whether there are some of which the kernel can't tell: they can't tell of this one either, unless it beats. */
  isWatched(): boolean {
    return this.#others('unknown').length > 0;
  }

  /**
   * Looks at those of which the kernel can't tell, and gives the ones that have been silent for so long that they are dead.
   * Called only where this process can write: then so could they.
   */
  lookAtSilent(): number[] {
    return this.#others('unknown').flatMap(({ id, beats }) => {
      const last = this.#looks.get(id);
      const silences = last?.beats === beats ? last.silences + 1 : 0;
      this.#looks.set(id, { beats, silences });
      return silences >= mostSilences ? [id] : [];
    });
  }

  /** Nobody could write: that nobody has beaten says nothing. */
  forgiveSilence(): void {
    this.#looks.clear();
  }

  #others(fate: ReturnType<typeof fateOf>): ProcessRow[] {
    const others = this.#database
      .prepare('select id, identity, beats from processes where id <> ?')
      .all(this.id) as ProcessRow[];
    return others.filter((row) => fateOf(JSON.parse(row.identity) as ProcessIdentity, this.#own) === fate);
  }
}

/**
 * Whether the process still runs. All that share a file in WAL mode run on one kernel: an identity from
 * another boot is dead for certain. In another PID namespace (another container) the kernel can't be asked.
 */
function fateOf(other: ProcessIdentity, self: ProcessIdentity): 'dead' | 'alive' | 'unknown' {
  if (other.host === self.host && other.boot !== self.boot) return 'dead';
  if (other.host !== self.host || other.namespace !== self.namespace) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  // The number may have been given to a new process since.
  return startOf(other.pid) === other.startedAt ? 'alive' : 'dead';
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function ownIdentity(): ProcessIdentity {
  return {
    host: hostname(),
    boot: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    namespace: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
    pid: process.pid,
    startedAt: startOf(process.pid),
  };
}

/** When a process began, in the kernel's own ticks; empty where the kernel doesn't say. */
function startOf(pid: number): string {
  return orEmpty(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is a name in parentheses that may itself contain blanks: count from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended; only its parent has not asked yet.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '');
  });
}

function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
