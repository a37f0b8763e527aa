/**
 * Lets runs of a call and handler be put back one after the other. Each looks for those before it that are open, and on
 * connections of their own, one that was put back sooner might not be there yet.
 */
export class InTurn {
  /** The last write of each call and handler that is not over. */
  readonly #last = new Map<string, Promise<unknown>>();

  add<T>(
    { callId, handler }: { readonly callId: string | undefined; readonly handler: string },
    write: () => Promise<T>,
  ): Promise<T> {
    if (callId === undefined) return write();
    const key = JSON.stringify([callId, handler]);
    const former = this.#last.get(key);
    const written = former === undefined ? write() : former.then(write, write);
    this.#last.set(key, written);
    const forget = () => {
      if (this.#last.get(key) === written) this.#last.delete(key);
    };
    written.then(forget, forget);
    return written;
  }
}
