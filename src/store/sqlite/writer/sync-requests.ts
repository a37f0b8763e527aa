import type { SyncMessage, SyncedMessage } from './commit-message.ts';

interface Request {
  readonly number: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The main thread's requests to sync what it has written: the next commit of the commit thread answers them. */
export class SyncRequests {
  readonly #ask: (message: SyncMessage) => void;
  #open: Request[] = [];
  #asked = 0;

  constructor(ask: (message: SyncMessage) => void) {
    this.#ask = ask;
  }

  /** How many have not been answered. */
  get count(): number {
    return this.#open.length;
  }

  /** Resolves when what was written until now is on disk. */
  add(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#asked += 1;
      this.#open.push({ number: this.#asked, resolve, reject });
      this.#ask({ sync: this.#asked });
    });
  }

  hear({ synced, failure }: SyncedMessage): void {
    const answered = this.#open.filter(({ number }) => number <= synced);
    this.#open = this.#open.filter(({ number }) => number > synced);
    for (const { resolve, reject } of answered) {
      if (failure === undefined) resolve();
      else reject(new Error(failure));
    }
  }

  /** Nobody answers any more: what was written may or may not be on disk. */
  fail(error: Error): void {
    for (const { reject } of this.#open.splice(0)) reject(error);
  }
}
