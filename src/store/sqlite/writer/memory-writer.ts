import { setImmediate } from 'node:timers';
import type Database from 'better-sqlite3';
import type { LockedWork } from './write-lock.ts';
import type { Statements } from '../connection/statements.ts';
import { failedGroup, groupSizeOf, prepareWriteGroup } from './write-group.ts';
import { type PendingWrite, Writer, errorOf } from './writer.ts';

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

  add(write: PendingWrite): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#writeAll());
    this.#waiting.push(write);
  }

  #writeAll(): void {
    const writes = this.#waiting.splice(0, groupSizeOf(this.#waiting.map(({ item }) => item)));
    if (this.#waiting.length > 0) setImmediate(() => this.#writeAll());
    // Nobody else can lock a database in memory.
    const done =
      this.#write(writes.map(({ item }) => item)) ?? failedGroup(writes.length, 'nothing was written');
    const reasons = new Map(done.failures);
    for (const [index, { onWritten, onFailed }] of writes.entries()) {
      const failure = reasons.get(index);
      if (failure) onFailed(errorOf(failure));
      else onWritten(done.results[index]);
    }
    if (this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
