import { setImmediate } from 'node:timers';
import type Database from 'better-sqlite3';
import type { LockedWork } from './write-lock.ts';
import type { Statements } from '../connection/statements.ts';
import { failedGroup, groupSizeOf, prepareWriteGroup } from './write-group.ts';
import type { WriteItem } from './write-message.ts';
import { type Sendable, type WriteCallbacks, Writer, errorOf } from './writer.ts';

interface PendingWrite {
  readonly item: WriteItem;
  readonly callbacks: WriteCallbacks;
}

/**
 * Writes to a database in memory, which belongs to one connection and thus to the app's thread. All writes of one turn
 * of the event loop share a transaction, as in a file.
 */
export class MemoryWriter extends Writer {
  readonly isOverloaded = false;
  readonly #write: ReturnType<typeof prepareWriteGroup>;
  readonly #waiting: PendingWrite[] = [];
  #idle: (() => void)[] = [];

  constructor(database: Database.Database, statements: Statements) {
    super();
    this.#write = prepareWriteGroup(database, statements);
  }

  /** As with a file, not at once: the handler that asked for it goes on meanwhile. */
  borrowLock(work: LockedWork): void {
    setImmediate(work, false);
  }

  borrowLockNow<T>(work: () => T): T {
    return work();
  }

  async ready(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  protected add({ item }: Sendable, callbacks: WriteCallbacks): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#writeAll());
    this.#waiting.push({ item, callbacks });
  }

  #writeAll(): void {
    const writes = this.#waiting.splice(0, groupSizeOf(this.#waiting.map(({ item }) => item)));
    if (this.#waiting.length > 0) setImmediate(() => this.#writeAll());
    // Nobody else can lock a database in memory.
    const done =
      this.#write(writes.map(({ item }) => item)) ?? failedGroup(writes.length, 'nothing was written');
    const reasons = new Map(done.failures);
    for (const [index, { callbacks }] of writes.entries()) {
      const failure = reasons.get(index);
      if (failure) callbacks.onFailed(errorOf(failure));
      else callbacks.onWritten(done.results[index]);
    }
    if (this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
