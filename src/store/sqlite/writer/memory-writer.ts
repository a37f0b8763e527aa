import { setImmediate } from 'node:timers';
import type Database from 'better-sqlite3';
import type { Statements } from '../connection/statements.ts';
import type { EventRow } from '../work/record.ts';
import type { Recorded } from '../../shared/found-work.ts';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';
import type { LockedWork } from './write-lock.ts';
import { failedGroup, prepareWriteGroup } from './write-group.ts';
import {
  type Batch,
  newBatch,
  type PendingOperation,
  type PendingWrite,
  type Writer,
  answer,
  writesOf,
} from './write-message.ts';

/**
 * Writes to a database in memory, which belongs to one connection and thus to the app's thread. All writes of one turn
 * of the event loop share a transaction, as in a file.
 */
export class MemoryWriter implements Writer {
  readonly isOverloaded = false;
  readonly #write: ReturnType<typeof prepareWriteGroup>;
  readonly #batches: Batch[] = [];
  readonly #idle: (() => void)[] = [];

  constructor(database: Database.Database, statements: Statements) {
    this.#write = prepareWriteGroup(database, statements);
  }

  addEvent(write: PendingWrite<EventRow, Recorded>): void {
    this.#batch().events.push(write);
  }

  addEnd(write: PendingWrite<ClaimOnEvent, boolean>): void {
    this.#batch().ends.push(write);
  }

  addOperation(write: PendingOperation): void {
    this.#batch(write.isAlone).operations.push(write);
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
    if (this.#batches.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** The batch for the next write. */
  #batch(isAlone = false): Batch {
    if (this.#batches.length === 0) setImmediate(() => this.#writeAll());
    const last = this.#batches.at(-1);
    if (last && !last.isAlone && !isAlone) return last;
    const batch = newBatch(isAlone);
    this.#batches.push(batch);
    return batch;
  }

  #writeAll(): void {
    for (const batch of this.#batches.splice(0)) {
      const writes = {
        events: batch.events.map(({ item }) => item),
        ends: batch.ends.map(({ item }) => item),
        operations: batch.operations.map(({ item }) => item),
      };
      // Nobody else can lock a database in memory.
      answer(writesOf(batch), this.#write(writes) ?? failedGroup(writes, 'it is locked'));
    }
    if (this.#batches.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
