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

/** In how many looks, one after the other, a process must be found silent to count as dead. */
const mostSilences = 3;

/** The beats of another process at the last look, and in how many looks they have not changed. */
interface Look {
  readonly beats: number;
  readonly silences: number;
}

/** The process under whose id claims are written. */
export interface Holder {
  readonly id: number;
  /**
   * Enters the process again if another process took it for dead because it stood still too long: claims under an id
   * that has no row would never be taken over. Ids are never given twice, so it keeps its old id.
   */
  ensureEntered(): void;
}

/** A holder with this id, which enters itself through this connection. */
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
  /** Who this process is, as it is stored. */
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

  /** The processes that are dead, according to the kernel. */
  dead(): number[] {
    return this.#others('dead').map(({ id }) => id);
  }

  /**
   * Whether there are processes about which the kernel can't be asked. They can't ask it about this process either,
   * so this process has to beat.
   */
  isWatched(): boolean {
    return this.#others('unknown').length > 0;
  }

  /**
   * Looks at the processes about which the kernel can't be asked, and returns those that have been silent for so long
   * that they count as dead. Called only when this process can write, because then the others could have written too.
   */
  lookAtSilent(): number[] {
    return this.#others('unknown').flatMap(({ id, beats }) => {
      const last = this.#looks.get(id);
      const silences = last?.beats === beats ? last.silences + 1 : 0;
      this.#looks.set(id, { beats, silences });
      return silences >= mostSilences ? [id] : [];
    });
  }

  /** Starts counting silences anew: while no process could write, a missing beat says nothing. */
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
