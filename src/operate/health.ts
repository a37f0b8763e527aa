import type { Clock } from '../kit/clock.ts';
import { recordedInTime, storePause } from '../store/timeouts.ts';
import type { Store } from '../store/store.ts';

/**
 * Whether the inbox can be written, for readiness checks. After a failed write, probes every second: a receiver that is
 * not ready may get no delivery that would show its recovery.
 */
export class InboxHealth {
  readonly #store: Pick<Store, 'probe'>;
  readonly #clock: Clock;
  #isWritable = true;
  #isStopped = false;
  #probing: Promise<void> | undefined;
  /** Whether the probe in flight has missed its deadline. */
  #isOverdue = false;
  #cancelRetry: (() => void) | undefined;

  constructor(store: Pick<Store, 'probe'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether the last write succeeded, as far as this process knows. */
  get isWritable(): boolean {
    return this.#isWritable;
  }

  /** Called when a write has failed. */
  failed(): void {
    this.#isWritable = false;
    void this.#probe();
  }

  /**
   * Finds out whether a delivery could be written now. Concurrent checks share one probe, and a failed probe isn't
   * repeated within a second, because anybody may ask.
   */
  async check(): Promise<boolean> {
    if (this.#isOverdue || this.#cancelRetry) return false;
    const probe = this.#probe();
    // With the timeout of a delivery's write.
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
