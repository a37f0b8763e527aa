import type Database from 'better-sqlite3';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Clock } from '../../kit/clock.ts';

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

/** A process whose beats have not moved for this long is dead, in milliseconds. */
const silence = 6_000;

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
 * still. Beats are counted, not dated, so that a wall clock that jumps kills nobody.
 */
export class Processes implements Holder {
  readonly #database: Database.Database;
  readonly #clock: Clock;
  readonly #own: ProcessIdentity = ownIdentity();
  /** Who this process is, as it is written. */
  readonly identity = JSON.stringify(this.#own);
  readonly #seen = new Map<number, { beats: number; since: number }>();
  #holder: Holder;

  constructor(database: Database.Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
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
    this.#seen.delete(id);
  }

  /** The ids of processes that are dead, as far as can be told now. */
  dead(): number[] {
    const others = this.#database
      .prepare('select id, identity, beats from processes where id <> ?')
      .all(this.id) as ProcessRow[];
    return others.filter((row) => this.#isDead(row)).map((row) => row.id);
  }

  #isDead(row: ProcessRow): boolean {
    const fate = fateOf(JSON.parse(row.identity) as ProcessIdentity, this.#own);
    if (fate !== 'unknown') return fate === 'dead';
    return this.#isSilent(row);
  }

  #isSilent(row: ProcessRow): boolean {
    const now = this.#clock.elapsed();
    const last = this.#seen.get(row.id);
    if (last?.beats !== row.beats) {
      this.#seen.set(row.id, { beats: row.beats, since: now });
      return false;
    }
    return now - last.since >= silence;
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
