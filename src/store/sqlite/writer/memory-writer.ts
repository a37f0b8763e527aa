import { setImmediate } from 'node:timers';
import type Database from 'better-sqlite3';
import type { Sequence } from '../../run-key.ts';
import type { Verbs } from '../connection/verbs.ts';
import type { EventRow, RecordedRow } from '../work/record.ts';
import type { OperationName, Operations } from './operations.ts';
import { prepareWriteGroup, recordedOf } from './write-group.ts';
import { groupSizeOf } from './waiting-writes.ts';
import { type WriteItem, sync } from './write-message.ts';
import { type ResultOf, type Writer, type WriteLimits, errorOf } from './writer.ts';

interface WaitingWrite {
  readonly item: WriteItem;
  readonly onWritten: (result: unknown) => void;
  readonly onFailed: (error: Error) => void;
}

/**
 * Writes to a database in memory, which belongs to one connection and thus to one thread: this one. All writes of one turn
 * of the event loop share a transaction, as in a file.
 */
export class MemoryWriter implements Writer {
  readonly isOverloaded = false;
  readonly #write: ReturnType<typeof prepareWriteGroup>;
  readonly #waiting: WaitingWrite[] = [];
  #idle: (() => void)[] = [];

  constructor(database: Database.Database, verbs: Verbs) {
    this.#write = prepareWriteGroup(database, verbs);
  }

  run<Name extends OperationName>(
    name: Name,
    args: Parameters<Operations[Name]>,
    { isDelivery = false, bytes = 0, isAlone = false, timeout = Infinity }: WriteLimits = {},
    onWritten: (result: ResultOf<Name>) => void = () => {},
  ): Promise<ResultOf<Name>> {
    const item = { name, args, isDelivery, isAlone, timeout, bytes };
    return this.#add(item, (result) => {
      onWritten(result as ResultOf<Name>);
      return result as ResultOf<Name>;
    });
  }

  record(row: EventRow, onRecorded: (recorded: RecordedRow) => void): Promise<RecordedRow> {
    return this.#add(row, (code) => {
      const recorded = recordedOf(code as number);
      onRecorded(recorded);
      return recorded;
    });
  }

  endClaim(sequence: Sequence): Promise<boolean> {
    return this.#add(sequence, (isHeld) => isHeld as boolean);
  }

  sync(): Promise<void> {
    return this.#add(sync, () => {});
  }

  /** Not at once, as in a file: the handler that asked for it goes on meanwhile. */
  borrowLock(work: () => void): void {
    setImmediate(work);
  }

  borrowLockNow<T>(work: () => T): T {
    return work();
  }

  async ready(): Promise<void> {}

  abandon(): void {}

  async close(): Promise<void> {
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #add<T>(item: WriteItem, resultOf: (result: unknown) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#writeAll());
      this.#waiting.push({ item, onWritten: (result) => resolve(resultOf(result)), onFailed: reject });
    });
  }

  #writeAll(): void {
    const writes = this.#waiting.splice(0, groupSizeOf(this.#waiting));
    if (this.#waiting.length > 0) setImmediate(() => this.#writeAll());
    // Nobody else can lock a database in memory.
    const { written = [] } = this.#write(() => writes.map(({ item }) => item)) ?? {};
    for (const [place, { onWritten, onFailed }] of writes.entries()) {
      const one = written[place];
      if (one && 'value' in one) onWritten(one.value);
      else onFailed(errorOf(one?.failure ?? { message: 'nothing was written', code: undefined }));
    }
    if (this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
