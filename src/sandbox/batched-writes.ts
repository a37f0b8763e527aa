import type { Clock } from '../kit/clock.ts';
import type { Connection } from './database.ts';

/** How long a write may wait for others, in milliseconds. A crash loses at most the writes of that time. */
const maxWait = 20;
/** This many writes are made at once without waiting for more: a longer transaction would hold up the deliveries. */
const maxWrites = 500;

/**
 * Makes small writes in batches: a transaction for many attempts costs little more than one for a single attempt. Code
 * that reads the tables written here calls `flush` first.
 */
export class BatchedWrites {
  readonly #clock: Clock;
  readonly #inTransaction: (writes: readonly (() => void)[]) => void;
  #writes: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#inTransaction = connection.transaction((writes: readonly (() => void)[]) => {
      for (const write of writes) write();
    });
  }

  /** Queues a write. It is made soon, and after all writes that were queued before it. */
  add(write: () => void): void {
    this.#writes.push(write);
    if (this.#writes.length >= maxWrites) this.flush();
    else this.#cancelTimer ??= this.#clock.after(maxWait, () => this.flush());
  }

  /** Makes all queued writes now. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#writes.length === 0) return;
    const writes = this.#writes;
    this.#writes = [];
    this.#inTransaction(writes);
  }
}
