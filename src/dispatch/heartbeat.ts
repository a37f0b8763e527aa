import { messageOf } from '../kit/error-text.ts';
import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';
import { heartbeatInterval } from '../store/timeouts.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Loop } from './loop.ts';

export interface HeartbeatParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Called with each heartbeat. Rejects if the inbox can't be reached. */
  readonly onHeartbeat: () => Promise<void>;
  readonly loop: Loop;
}

/** Reports that this process is alive, takes over the claims of dead ones, and is notified of new work in the store. */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #isDraining = false;
  #isStopped = false;
  #cancel = () => {};
  #unsubscribe = () => {};

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** Makes a heartbeat at once, and then at every interval. Rejects if the first one can't reach the inbox. */
  async start(): Promise<void> {
    await this.#keepAlive();
    const { store, loop } = this.#parts;
    this.#unsubscribe = store.subscribe(() => loop.wake());
    this.#schedule();
  }

  /** From now on a stop doesn't wait for heartbeats: a process that locks the database must not hold it up. */
  drain(): void {
    this.#isDraining = true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#unsubscribe();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    const { clock, loop } = this.#parts;
    this.#cancel = clock.after(heartbeatInterval, () => {
      const heartbeat = this.#heartbeat();
      if (!this.#isDraining) loop.inFlight.follow(heartbeat);
    });
  }

  async #heartbeat(): Promise<void> {
    const { telemetry } = this.#parts;
    try {
      await this.#keepAlive();
    } catch (error) {
      if (!this.#isStopped) telemetry.report('dispatch_failed', { cause: messageOf(error) });
    }
    this.#schedule();
  }

  async #keepAlive(): Promise<void> {
    const { store, telemetry, onHeartbeat, loop } = this.#parts;
    const { takenOver } = await store.keepAlive();
    if (takenOver > 0) {
      telemetry.report('claims_taken_over', { count: takenOver });
      loop.wake();
    }
    await onHeartbeat();
  }
}
