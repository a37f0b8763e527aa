import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Connection } from './database.ts';

/** How long a write may wait for others, in milliseconds: a crash loses at most the writes of that time. */
const maxWait = 20;
/** The size of a batch that is written without waiting: a longer transaction would delay deliveries. */
const maxWrites = 500;
const retryPause = 500;

/**
 * Makes small writes in batches, because a transaction for many attempts costs little more than one for a single
 * attempt. Code that reads these tables calls `flush` first.
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

  /** Queues a write, which is made soon, after all writes queued before it. */
  add(write: () => void): void {
    this.#writes.push(write);
    // With more, the database has refused them, and the timer retries.
    if (this.#writes.length === maxWrites) this.#try();
    else this.#after(maxWait);
  }

  /** Makes all queued writes now. If the database refuses them, for example on a full disk, they stay queued. */
  flush(): void {
    if (this.#writes.length > 0) this.#inTransaction(this.#writes);
    this.#writes = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Makes all queued writes for the last time: writes that the database refuses now are lost. */
  end(): void {
    this.#try();
    this.#cancelTimer?.();
  }

  /** Logs a failure, because the code that queued the writes has already moved on and must not fail with them. */
  #try(): void {
    try {
      this.flush();
    } catch (error) {
      this.#logger.error(
        { event: 'writes_failed', cause: messageOf(error) },
        'the database refuses the state of the sandbox',
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
