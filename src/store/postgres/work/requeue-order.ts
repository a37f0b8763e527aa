/**
 * Has runs of one call and handler that are requeued at the same time written in two steps: the first one alone, then the
 * others together. Each looks for earlier runs that are open, to wait for them; on another connection it would not see the
 * first one before that is committed.
 */
export class RequeueOrder {
  /** For each call and handler, the write for which those that come later wait. */
  readonly #first = new Map<string, Promise<unknown>>();

  /** `othersWait`: runs that are added later wait until this one is committed, also if they wait for an earlier one already. */
  add<T>(
    { callId, handler }: { readonly callId: string | undefined; readonly handler: string },
    { othersWait }: { readonly othersWait: boolean },
    write: () => Promise<T>,
  ): Promise<T> {
    if (callId === undefined) return write();
    const key = JSON.stringify([callId, handler]);
    const before = this.#first.get(key);
    const written = before === undefined ? write() : before.then(write, write);
    if (before !== undefined && !othersWait) return written;
    this.#first.set(key, written);
    const forget = () => {
      if (this.#first.get(key) === written) this.#first.delete(key);
    };
    written.then(forget, forget);
    return written;
  }
}
