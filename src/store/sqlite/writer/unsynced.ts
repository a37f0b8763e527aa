import { Unconfirmed } from '../../unconfirmed.ts';

/**
 * Returns a function that resolves when what the main thread has committed is on disk; or undefined, when the main
 * thread's commits have to sync by themselves.
 */
export type Synced = () => (() => Promise<void>) | undefined;

/** A write that is committed, and not yet on disk. */
export interface Committed {
  readonly write: {
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: Unconfirmed) => void;
  };
  readonly value: unknown;
}

/**
 * Writes that the main thread has committed and the commit thread is to sync: on a slow disk, the app's event loop
 * would otherwise block for each commit.
 */
export class Unsynced {
  readonly #synced: Synced;
  readonly #onEmpty: () => void;
  #groups = 0;

  constructor(synced: Synced, onEmpty: () => void) {
    this.#synced = synced;
    this.#onEmpty = onEmpty;
  }

  get isEmpty(): boolean {
    return this.#groups === 0;
  }

  /** Writes that count when `synced` resolves. */
  add(group: readonly Committed[], synced: Promise<void>): void {
    this.#groups += 1;
    const onDisk = (): void => {
      for (const { write, value } of group) write.resolve(value);
    };
    const onRefused = (error: unknown): void => {
      const unconfirmed = new Unconfirmed(error, () => this.#confirm());
      for (const { write } of group) write.reject(unconfirmed);
    };
    void synced.then(onDisk, onRefused).finally(() => {
      this.#groups -= 1;
      if (this.isEmpty) this.#onEmpty();
    });
  }

  async #confirm(): Promise<void> {
    const synced = this.#synced();
    if (!synced) throw new Error('nobody is there to sync what was committed');
    await synced();
  }
}
