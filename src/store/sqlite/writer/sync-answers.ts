import type { SyncMessage, SyncedMessage } from './commit-message.ts';

/** The commit thread's side of the main thread's sync requests: see `SyncRequests`. */
export class SyncAnswers {
  readonly #tell: (message: SyncedMessage) => void;
  #wanted = 0;
  #answered = 0;

  constructor(tell: (message: SyncedMessage) => void) {
    this.#tell = tell;
  }

  /** The number of the latest request. */
  get wanted(): number {
    return this.#wanted;
  }

  /** Whether a request has not been answered. */
  get isAnyOpen(): boolean {
    return this.#answered !== this.#wanted;
  }

  request({ sync }: SyncMessage): void {
    this.#wanted = sync;
  }

  /** Answers all requests up to this one. */
  answer(synced: number, failure?: string): void {
    if (synced <= this.#answered) return;
    this.#answered = synced;
    this.#tell(failure === undefined ? { synced } : { synced, failure });
  }
}
