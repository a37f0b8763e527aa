import type { SyncMessage, SyncedMessage } from './commit-message.ts';

interface Request {
  readonly number: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Requests of the main thread that what it has written be synced: the next commit of the commit thread does it. */
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

  /** Nobody answers any more: what was written may be on disk, or not. */
  fail(error: Error): void {
    for (const { reject } of this.#open.splice(0)) reject(error);
  }
}
