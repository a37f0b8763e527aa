import { setImmediate } from 'node:timers';
import type Database from 'better-sqlite3';
import { type Clock, holdProcess } from '../../../kit/clock.ts';
import type { FileGuard } from '../connection/file-guard.ts';
import { type Locked, inTransaction, isLockedOut } from '../connection/in-transaction.ts';
import { type Committed, type Synced, Unsynced } from './unsynced.ts';

/** What a caller can specify for a write. */
export interface WriteLimits<T = unknown> {
  /** How long it may wait for a locked database, in milliseconds; default without end. */
  readonly timeout?: number;
  /** Its size, so that a group stays bounded. */
  readonly bytes?: number;
  /** Gives the write a transaction of its own: for work that must not be run a second time when another write fails. */
  readonly alone?: boolean;
  /**
   * The write only tells what this process has in hand, and a power cut ends both. So it counts as soon as it is
   * committed, and is on disk with whatever is synced next. Default false.
   */
  readonly endsWithProcess?: boolean;
  /** Called when the write counts, before anything else goes on. */
  readonly onCommitted?: ((value: T) => void) | undefined;
}

/** Runs a function when nothing else in this process writes. */
export type InTurn = (work: () => void) => void;

/** How a group is tied to the other writers of its process. */
export interface GroupTies {
  readonly inTurn: InTurn;
  readonly synced: Synced;
  /** Whether the database is still in its place. */
  readonly files: Pick<FileGuard, 'problem' | 'look'>;
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
  readonly endsWithProcess: boolean;
}

/** A commit is bounded, so that a burst stalls the app's event loop for one small group at a time. */
const groupWrites = 256;
const groupBytes = 4 * 1024 * 1024;
/** How long to let another process finish its transaction before trying again, in milliseconds. */
const lockedPause = 20;

/** How long a delivery waits for its commit, in milliseconds: the sender gives up after 1,000. */
export const recordTimeout = 700;

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
  readonly #inTurn: InTurn;
  readonly #synced: Synced;
  readonly #unsynced: Unsynced;
  readonly #files: GroupTies['files'];
  #waiting: Write[] = [];
  #scheduled = false;
  #idle: (() => void)[] = [];
  #letGo: (() => void) | undefined;
  #isAbandoned = false;

  constructor(database: Database.Database, clock: Clock, { inTurn, synced, files }: GroupTies) {
    this.#database = database;
    this.#clock = clock;
    this.#inTurn = inTurn;
    this.#synced = synced;
    this.#files = files;
    this.#unsynced = new Unsynced(synced, () => this.#rest());
  }

  /** Runs `operation` inside the next transaction and resolves when that is on disk. */
  write<T>(operation: () => T, limits: WriteLimits<T> = {}): Promise<T> {
    const { timeout = Infinity, bytes = 0, alone = false, endsWithProcess = false } = limits;
    return new Promise<T>((resolve, reject) => {
      const deadline = this.#clock.elapsed() + timeout;
      const onDisk = (value: unknown): void => {
        limits.onCommitted?.(value as T);
        resolve(value as T);
      };
      const settle = { resolve: onDisk, reject };
      this.#waiting.push({ operation, ...settle, deadline, bytes, alone, endsWithProcess });
      this.#schedule();
    });
  }

  /** From now on nothing waits for a lock. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** Resolves when nothing is left to write. */
  async drained(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#unsynced.isEmpty;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#inTurn(() => this.#flush()));
  }

  #flush(): void {
    this.#scheduled = false;
    const group = this.#takeGroup();
    const { problem } = this.#files;
    if (problem) {
      for (const write of group) write.reject(problem);
      return this.#continue();
    }
    try {
      this.#commit(group);
    } catch (error) {
      if (isLockedOut(error)) return this.#waitForLock(group, error);
      return this.#settleFailed(group, error);
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
    const synced = this.#synced();
    const run = () => group.map((write) => write.operation());
    const values = inTransaction(this.#database, run, { syncs: synced === undefined });
    // What the commit thread syncs, it also answers for.
    const problem = synced === undefined ? this.#files.look() : undefined;
    const lasting: Committed[] = [];
    for (const [index, write] of group.entries()) {
      const value = values[index];
      const isOver = synced === undefined || write.endsWithProcess;
      if (problem) write.reject(problem);
      else if (isOver) write.resolve(value);
      else lasting.push({ write, value });
    }
    if (synced && lasting.length > 0) this.#unsynced.add(lasting, synced());
  }

  /**
   * The group failed as a whole, so nothing of it is stored: writes each one by itself, to find out which of them
   * fails.
   */
  #settleFailed(group: readonly Write[], error: unknown): void {
    if (group.length === 1) group[0]?.reject(error);
    for (const [index, write] of group.length === 1 ? [] : group.entries()) {
      try {
        const value = inTransaction(this.#database, write.operation, { syncs: true });
        const problem = this.#files.look();
        if (problem) throw problem;
        write.resolve(value);
      } catch (itsError) {
        // Another process came in between: the rest has not failed, it only has to wait.
        if (isLockedOut(itsError)) return this.#waitForLock(group.slice(index), itsError);
        write.reject(itsError);
      }
    }
    this.#continue();
  }

  /**
   * Lets writes wait for the lock. All of them are checked against their deadline: behind a write of endless timeout
   * may be one whose sender gives up in a moment.
   */
  #waitForLock(group: readonly Write[], { cause }: Locked): void {
    const now = this.#clock.elapsed();
    const waiting = [...group, ...this.#waiting];
    const isOver = ({ deadline }: Write): boolean => this.#isAbandoned || deadline <= now;
    for (const write of waiting) if (isOver(write)) write.reject(cause);
    this.#waiting = waiting.filter((write) => !isOver(write));
    if (this.#waiting.length === 0) return this.#continue();
    this.#scheduled = true;
    // Without this, a process that only waits for this write would end, and the write with it.
    this.#letGo ??= holdProcess();
    this.#clock.after(lockedPause, () => this.#inTurn(() => this.#flush()));
  }

  #continue(): void {
    this.#letGo?.();
    this.#letGo = undefined;
    if (this.#waiting.length > 0) this.#schedule();
    this.#rest();
  }

  #rest(): void {
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
