import type { Clock } from '../kit/clock.ts';
import { recordedInTime, storePause } from '../store/timeouts.ts';
import type { Store } from '../store/store.ts';

/**
 * Whether the inbox can be written, for whoever asks whether the receiver is ready. After a write that failed it is
 * tried again every second: a receiver that is not ready may get no delivery that would show it.
 */
export class InboxHealth {
  readonly #store: Pick<Store, 'probe'>;
  readonly #clock: Clock;
  #isWritable = true;
  #isStopped = false;
  #probing: Promise<void> | undefined;
  /** Whether the probe in flight has not been answered in time. */
  #isOverdue = false;
  #cancelRetry: (() => void) | undefined;

  constructor(store: Pick<Store, 'probe'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether the last write was made, as far as is known. */
  get isWritable(): boolean {
    return this.#isWritable;
  }

  /** A write has failed. */
  failed(): void {
    this.#isWritable = false;
    void this.#probe();
  }

  /**
   * Finds out whether a delivery could be written now. Those who ask at the same time share one probe, and one that has
   * failed is not repeated within a second: who asks may be anybody.
   */
  async check(): Promise<boolean> {
    if (this.#isOverdue || this.#cancelRetry) return false;
    const probe = this.#probe();
    // A delivery waits as long for its write.
    await recordedInTime(this.#clock, probe).catch(() => {
      this.#isOverdue = this.#probing === probe;
      if (this.#isOverdue) this.#isWritable = false;
    });
    return this.#isWritable;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  /** Never rejects. */
  #probe(): Promise<void> {
    this.#probing ??= this.#tryWrite();
    return this.#probing;
  }

  async #tryWrite(): Promise<void> {
    try {
      await this.#store.probe?.();
      this.#isWritable = true;
    } catch {
      this.#isWritable = false;
      this.#retryLater();
    } finally {
      this.#probing = undefined;
      this.#isOverdue = false;
    }
  }

  #retryLater(): void {
    if (this.#isStopped) return;
    this.#cancelRetry ??= this.#clock.after(storePause, () => {
      this.#cancelRetry = undefined;
      void this.#probe();
    });
  }
}
