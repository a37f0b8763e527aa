/**
 * Keeps the order of a call's events while they are placed. To read a large body takes several turns of the event loop,
 * and an event that may be poison waits until it may be read: what comes later of its call must not overtake it.
 */
export class PlacingOrder {
  readonly #lastOf = new Map<string, Promise<void>>();
  #size = 0;

  /** How many events and runs have not been placed yet. */
  get size(): number {
    return this.#size;
  }

  /** Calls `place` at once, or when what came before of its call has been placed. Returns a promise only if it takes time. */
  next(callId: string | undefined, place: () => void | Promise<void>): Promise<void> | undefined {
    const before = callId === undefined ? undefined : this.#lastOf.get(callId);
    const placing = before ? before.then(place, place) : place();
    if (!placing) return undefined;
    this.#size += 1;
    const placed = placing.finally(() => {
      this.#size -= 1;
      if (callId !== undefined && this.#lastOf.get(callId) === placed) this.#lastOf.delete(callId);
    });
    if (callId !== undefined) this.#lastOf.set(callId, placed);
    return placed;
  }
}
