import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Connection } from './database.ts';

/** How long a write may wait for others, in milliseconds. A crash loses at most the writes of that time. */
const maxWait = 20;
/** This many writes are made at once without waiting for more: a longer transaction would hold up the deliveries. */
const maxWrites = 500;
/** After how long writes that the database has refused are tried again, in milliseconds. */
const retryPause = 500;

/**
 * Makes small writes in batches: a transaction for many attempts costs little more than one for a single attempt. Code
 * that reads the tables written here calls `flush` first.
 */
export class BatchedWrites {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #inTransaction: (writes: readonly (() => void)[]) => void;
  #writes: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(connection: Connection, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#inTransaction = connection.transaction((writes: readonly (() => void)[]) => {
      for (const write of writes) write();
    });
  }

  /** Queues a write. It is made soon, and after all writes that were queued before it. */
  add(write: () => void): void {
    this.#writes.push(write);
    // Once there are more, the database has refused them, and the timer tries again.
    if (this.#writes.length === maxWrites) this.#try();
    else this.#after(maxWait);
  }

  /** Makes all queued writes now. If the database refuses them, on a full disk, say, they stay queued. */
  flush(): void {
    if (this.#writes.length > 0) this.#inTransaction(this.#writes);
    this.#writes = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Makes all queued writes a last time: what the database refuses now is lost. */
  end(): void {
    this.#try();
    this.#cancelTimer?.();
  }

  /** What is queued is no longer part of what queued it, which must not fail with it. */
  #try(): void {
    try {
      this.flush();
    } catch (error) {
      this.#logger.error(
        { event: 'writes_failed', cause: messageOf(error) },
        'the database does not take what has happened',
      );
      this.#after(retryPause);
    }
  }

  #after(time: number): void {
    this.#cancelTimer ??= this.#clock.after(time, () => {
      this.#cancelTimer = undefined;
      this.#try();
    });
  }
}
