import type {
  HandlerPause,
  HandlerRuns,
  HandlerStore,
  LivingProcess,
  StartSlots,
} from '../../handler-store.ts';
import type { Access } from '../access.ts';

/** The handlers of a SQLite inbox. */
export class SqliteHandlers implements HandlerStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  pause(pause: HandlerPause): Promise<HandlerPause> {
    return this.#access.write('pauseHandler', [pause]);
  }

  resume(handler: string): Promise<boolean> {
    return this.#access.write('resumeHandler', [handler]);
  }

  paused(): Promise<readonly HandlerPause[]> {
    return this.#access.read(({ handlers }) => handlers.paused());
  }

  reserveStarts(slots: StartSlots): Promise<number> {
    return this.#access.write('reserveStarts', [slots, this.#access.clock.now()]);
  }

  runs(): Promise<readonly HandlerRuns[]> {
    return this.#access.read(({ handlers }) => handlers.runs());
  }

  processes(): Promise<readonly LivingProcess[]> {
    return this.#access.read(({ processes }) => processes.living());
  }
}
