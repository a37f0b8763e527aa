import type { Clock } from '../../kit/clock.ts';
import type { Connection } from '../database.ts';

/** How long a write may wait for others, in real milliseconds: what a crash can cost. */
const longestWait = 20;
/** How many writes are made at once without waiting for more: a transaction must not hold up the deliveries. */
const mostWrites = 500;

/**
 * Gathers small writes and makes them together: one transaction for many attempts costs little more than one attempt's
 * own. Who reads what is written here flushes first.
 */
export class GatheredWrites {
  readonly #clock: Clock;
  readonly #inTransaction: (writes: readonly (() => void)[]) => void;
  #writes: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  /** @param clock The real one: how long a write waits has nothing to do with the speed of the calls. */
  constructor(connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#inTransaction = connection.transaction((writes: readonly (() => void)[]) => {
      for (const write of writes) write();
    });
  }

  /** Takes a write, to be made soon and after all that were taken before. */
  add(write: () => void): void {
    this.#writes.push(write);
    if (this.#writes.length >= mostWrites) this.flush();
    else this.#cancelTimer ??= this.#clock.after(longestWait, () => this.flush());
  }

  /** Makes every write that was taken. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#writes.length === 0) return;
    const writes = this.#writes;
    this.#writes = [];
    this.#inTransaction(writes);
  }
}
