import type { HandlerStore } from '../store/handler-store.ts';
import type { Loop } from './loop.ts';
import type { Run } from './run.ts';

/** A handler's lanes, as far as this concerns them. */
interface Pausable {
  readonly handler: { readonly name: string };
  isPaused: boolean;
  /** Takes out the runs that have not begun. */
  takeWaiting(): readonly Run[];
}

export interface PausesParts {
  readonly store: { readonly handlers: Pick<HandlerStore, 'paused'> };
  readonly registry: { readonly lanes: readonly Pausable[] };
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
    for (const one of registry.lanes) {
      const isPaused = paused.has(one.handler.name);
      if (isPaused && !one.isPaused) this.#pause(one);
      if (!isPaused && one.isPaused) {
        one.isPaused = false;
        loop.wake();
      }
    }
  }

  #pause(one: Pausable): void {
    one.isPaused = true;
    for (const run of one.takeWaiting()) this.#parts.requeue(run);
  }
}
