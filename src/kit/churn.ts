/** Collections for what comes and goes thousands of times a second. */

/** After how many deletions the entries move, or as many as there are entries if that is more. */
const deletionsBetween = 4_096;

/**
 * A map whose entries come and go all the time, such as what is in flight. A `Map` leaves a table behind whenever it has
 * seen some deletions, and that table refers to the next one. Once a full garbage collection has found one of them in
 * use, it outlives all smaller collections, and so does every later table, with all that was ever in it: under load,
 * that was half a megabyte in a fifth of a second, and a full collection every few seconds, which stalls the event
 * loop. So the entries move to a new map now and then, to which no old table refers.
 */
export class RenewedMap<K, V> {
  #entries = new Map<K, V>();
  #deletions = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value);
  }

  delete(key: K): void {
    if (!this.#entries.delete(key)) return;
    this.#deletions += 1;
    if (this.#deletions < Math.max(deletionsBetween, this.#entries.size)) return;
    this.#deletions = 0;
    this.#entries = new Map(this.#entries);
  }

  clear(): void {
    this.#deletions = 0;
    this.#entries = new Map();
  }

  keys(): Iterable<K> {
    return this.#entries.keys();
  }

  values(): Iterable<V> {
    return this.#entries.values();
  }
}

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
