import { messageOf } from '../kit/error-text.ts';
import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';
import { heartbeatInterval } from '../store/timeouts.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Loop } from './in-flight.ts';
import type { Run } from './run.ts';

interface HeartbeatParts {
  readonly store: Store;
  readonly registry: { readonly lanes: readonly HandlerLanes[] };
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Puts a run back into the inbox. */
  readonly requeue: (run: Run) => void;
  readonly loop: Loop;
}

/**
 * Keeps this process in step with the others: reports that it is alive, takes over the claims of dead ones, pauses and
 * resumes its handlers as a person asked in any of them, and is notified of new work in the store.
 */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #isDraining = false;
  #isStopped = false;
  #cancel = () => {};
  #unsubscribe = () => {};
  #refreshed: Promise<void> = Promise.resolve();

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

  /**
   * Reads which handlers are paused, as each heartbeat does. One reading at a time: an older one that returns late must
   * not undo a newer one. Rejects if the inbox can't be reached.
   */
  refreshPauses(): Promise<void> {
    const refresh = (): Promise<void> => this.#refreshPauses();
    this.#refreshed = this.#refreshed.then(refresh, refresh);
    return this.#refreshed;
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
      if (!this.#isDraining) loop.inFlight.track(heartbeat);
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
    const { store, telemetry, loop } = this.#parts;
    const { takenOver } = await store.keepAlive();
    if (takenOver > 0) {
      telemetry.report('claims_taken_over', { count: takenOver });
      loop.wake();
    }
    await this.refreshPauses();
  }

  /** The runs of a paused handler that have not begun go back to the inbox: there they take no memory, nor hold up a stop. */
  async #refreshPauses(): Promise<void> {
    const { store, registry, requeue, loop } = this.#parts;
    const paused = new Set((await store.handlers.paused()).map(({ handler }) => handler));
    for (const lanes of registry.lanes) {
      const wasPaused = lanes.isPaused;
      lanes.isPaused = paused.has(lanes.handler.name);
      if (lanes.isPaused) for (const run of lanes.takeUnbegun()) requeue(run);
      else if (wasPaused) loop.wake();
    }
  }
}
