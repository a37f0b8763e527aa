import { unlessAborted } from '../../kit/aborting.ts';

/** Runs work with the same key one at a time. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Runs the work once all earlier work with this key has ended, successfully or not, or has called its `release`: what
   * earlier work does after that may overlap.
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
    // Later work waits for earlier work even if this work is aborted.
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

  async #forget(key: string, own: Promise<void>): Promise<void> {
    await own;
    if (this.#last.get(key) === own) this.#last.delete(key);
  }
}
