/**
 * Has runs of one call and handler that are requeued at the same time written in two steps: the first one alone, then the
 * others together. Each looks for earlier runs that are open, to wait for them; on another connection it would not see the
 * first one before that is committed.
 */
export class RequeueOrder {
  /** For each call and handler, the write for which those that come later wait. */
  readonly #first = new Map<string, Promise<unknown>>();

  /** `mustBeFound`: those that come later wait for this one as well, although one is ahead of them already. */
  add<T>(
    { callId, handler }: { readonly callId: string | undefined; readonly handler: string },
    { mustBeFound }: { readonly mustBeFound: boolean },
    write: () => Promise<T>,
  ): Promise<T> {
    if (callId === undefined) return write();
    const key = JSON.stringify([callId, handler]);
    const before = this.#first.get(key);
    const written = before === undefined ? write() : before.then(write, write);
    if (before !== undefined && !mustBeFound) return written;
    this.#first.set(key, written);
    const forget = () => {
      if (this.#first.get(key) === written) this.#first.delete(key);
    };
    written.then(forget, forget);
    return written;
  }
}
