/**
 * Lets the first of the runs of a call and handler that are put back at once go ahead. Each looks for those before it that are
 * open, and on connections of their own, the first might not be there yet. Once it is, the others can go together.
 */
export class InTurn {
  /** What is being put back of each call and handler, and those that come later must find. */
  readonly #first = new Map<string, Promise<unknown>>();

  /** `isFirst`: those that come later have to find this one, whatever is put back already. */
  add<T>(
    { callId, handler }: { readonly callId: string | undefined; readonly handler: string },
    { isFirst }: { readonly isFirst: boolean },
    write: () => Promise<T>,
  ): Promise<T> {
    if (callId === undefined) return write();
    const key = JSON.stringify([callId, handler]);
    const before = this.#first.get(key);
    const written = before === undefined ? write() : before.then(write, write);
    if (before !== undefined && !isFirst) return written;
    this.#first.set(key, written);
    const forget = () => {
      if (this.#first.get(key) === written) this.#first.delete(key);
    };
    written.then(forget, forget);
    return written;
  }
}
