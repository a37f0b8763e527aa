import type { HandlerStore } from '../store/handler-store.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Loop } from './loop.ts';
import type { Run } from './run.ts';

export interface PausesParts {
  readonly store: { readonly handlers: Pick<HandlerStore, 'paused'> };
  readonly registry: { readonly lanes: readonly HandlerLanes[] };
  /** Puts a run back into the inbox. */
  readonly requeue: (run: Run) => void;
  readonly loop: Loop;
}

/**
 * Pauses the handlers of this process that are paused in the inbox. Their runs that have not begun go back to the
 * inbox, where they take no memory and don't hold up a stop.
 */
export class Pauses {
  readonly #parts: PausesParts;
  #refreshed: Promise<void> = Promise.resolve();

  constructor(parts: PausesParts) {
    this.#parts = parts;
  }

  /**
   * Reads which handlers are paused, and pauses and resumes them here. One reading at a time: an older one that returns
   * late must not undo a newer one. Rejects if the inbox can't be reached.
   */
  refresh(): Promise<void> {
    const refresh = (): Promise<void> => this.#refresh();
    this.#refreshed = this.#refreshed.then(refresh, refresh);
    return this.#refreshed;
  }

  async #refresh(): Promise<void> {
    const { store, registry, loop } = this.#parts;
    const paused = new Set((await store.handlers.paused()).map(({ handler }) => handler));
    for (const lanes of registry.lanes) {
      const isPaused = paused.has(lanes.handler.name);
      if (isPaused && !lanes.isPaused) this.#pause(lanes);
      if (!isPaused && lanes.isPaused) {
        lanes.isPaused = false;
        loop.wake();
      }
    }
  }

  #pause(lanes: HandlerLanes): void {
    lanes.isPaused = true;
    for (const run of lanes.takeWaiting()) this.#parts.requeue(run);
  }
}
