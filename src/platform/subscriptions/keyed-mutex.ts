import { unlessAborted } from '../../kit/aborting.ts';

/** Runs work under the same key one after the other, because it must not overlap. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Does the work once all earlier work of this key has ended, whether it succeeded or failed, or has called its `release`:
   * what it does after that may overlap.
   *
   * @throws the signal's reason if that is aborted before the work begins
   */
  async run<Result>(
    key: string,
    signal: AbortSignal | undefined,
    work: (release: () => void) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    // What comes later waits for what came before, also if this work is given up.
    const own = before.then(() => released);
    this.#last.set(key, own);
    void this.#forget(key, own);
    try {
      await (signal === undefined ? before : unlessAborted(signal, () => before));
      return await work(release);
    } finally {
      release();
    }
  }

  /** Forgets the last work of a key once it is over. */
  async #forget(key: string, own: Promise<void>): Promise<void> {
    await own;
    if (this.#last.get(key) === own) this.#last.delete(key);
  }
}
