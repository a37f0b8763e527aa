import type Database from 'better-sqlite3';
import type { Clock } from '../../kit/clock.ts';

/** What a caller can say of a write. */
export interface WriteLimits {
  /** How long it may wait for a locked database, in milliseconds; default without end. */
  readonly patience?: number;
  /** Its size, so that a group stays bounded. */
  readonly bytes?: number;
  /** Gives it a transaction of its own: for work that must not be run a second time when another fails. */
  readonly alone?: boolean;
}

/** One write that shares its commit with those which came in at the same time. */
interface Write {
  readonly operation: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** When the caller no longer waits, on the clock that never jumps. */
  readonly deadline: number;
  readonly bytes: number;
  readonly alone: boolean;
}

/** A commit is bounded, so that a burst stalls the app's event loop for one small group at a time. */
const groupWrites = 256;
const groupBytes = 4 * 1024 * 1024;
/** How long to let another process finish its transaction before trying again. */
const lockedPause = 20;

/**
 * Gathers the writes of one turn of the event loop into one transaction: the sync to disk, which is what a
 * durable write costs, is paid once for all of them. A write that comes alone is committed at once.
 *
 * A write that fails takes no other with it. While another process holds the lock, writes wait here, off the
 * event loop, until their deadline.
 */
export class CommitGroup {
  readonly #database: Database.Database;
  readonly #clock: Clock;
  #waiting: Write[] = [];
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(database: Database.Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Runs `operation` inside the next transaction and resolves when that is on disk. */
  write<T>(
    operation: () => T,
    { patience = Infinity, bytes = 0, alone = false }: WriteLimits = {},
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deadline = this.#clock.elapsed() + patience;
      const settle = { resolve: resolve as (value: unknown) => void, reject };
      this.#waiting.push({ operation, ...settle, deadline, bytes, alone });
      this.#schedule();
    });
  }

  /** Resolves when nothing is left to write. */
  async drained(): Promise<void> {
    if (this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const group = this.#takeGroup();
    try {
      this.#commit(group);
    } catch (error) {
      if (isLocked(error)) return this.#waitForLock(group, error);
      this.#settleFailed(group, error);
    }
    this.#continue();
  }

  #takeGroup(): Write[] {
    let bytes = 0;
    let count = 0;
    for (const write of this.#waiting) {
      const isFull = count === groupWrites || bytes + write.bytes > groupBytes;
      if (count > 0 && (isFull || write.alone)) break;
      bytes += write.bytes;
      count += 1;
      if (write.alone) break;
    }
    return this.#waiting.splice(0, count);
  }

  #commit(group: readonly Write[]): void {
    const values = inTransaction(this.#database, () => group.map((write) => write.operation()));
    group.forEach((write, index) => write.resolve(values[index]));
  }

  /** The group failed as a whole, so nothing of it is stored: find out which write it was. */
  #settleFailed(group: readonly Write[], error: unknown): void {
    if (group.length === 1) return group[0]?.reject(error);
    for (const write of group) {
      try {
        write.resolve(inTransaction(this.#database, write.operation));
      } catch (itsError) {
        write.reject(itsError);
      }
    }
  }

  #waitForLock(group: readonly Write[], error: unknown): void {
    const now = this.#clock.elapsed();
    for (const write of group) if (write.deadline <= now) write.reject(error);
    this.#waiting.unshift(...group.filter((write) => write.deadline > now));
    this.#scheduled = true;
    this.#clock.after(lockedPause, () => this.#flush());
  }

  #continue(): void {
    if (this.#waiting.length > 0) return this.#schedule();
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/**
 * IMMEDIATE, because a transaction that begins by reading and then wants to write can be refused in the
 * middle by another process; one that asks for the lock first can not.
 */
function inTransaction<T>(database: Database.Database, operation: () => T): T {
  return database.transaction(operation).immediate();
}

function isLocked(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'));
}
