/**
 * Keeps what is in flight, in no order, in slots that are used again. So what comes and goes thousands of times a
 * second leaves nothing behind; a `Set` would leave tables behind, like a `Map`: see `RenewedMap`.
 */
export class Slots<T extends object> {
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Adds an item, and returns the function that takes it out again. */
  add(item: T): () => void {
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = item;
    let isIn = true;
    return () => {
      // Taken out twice, a slot would be given to two items.
      if (!isIn) return;
      isIn = false;
      this.#slots[slot] = undefined;
      this.#free.push(slot);
    };
  }

  /** The items that are in at this moment. */
  get items(): readonly T[] {
    return this.#slots.filter((item) => item !== undefined);
  }
}
