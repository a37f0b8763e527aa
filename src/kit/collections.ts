/** Collections for items that come and go thousands of times a second. */

/** After how many deletions the entries move to a new map; after as many as there are entries, if that is more. */
const deletionsBetween = 4_096;

/**
 * A map for entries that come and go all the time, such as what is in flight. After some deletions, a `Map` moves to a
 * new table, and the old one refers to it. Once a full garbage collection has found one of these tables in use, it
 * survives all smaller collections, and so does every later table, with all that was ever in it: under load, half a
 * megabyte in a fifth of a second, and a full collection every few seconds, which stalls the event loop. So the entries
 * move to a new map now and then, to which no old table refers.
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
 * A set of items in flight, in no order, in slots that are reused. Unlike a `Set`, it leaves no tables behind: see
 * `RenewedMap`.
 */
export class SlotSet<T extends object> {
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Adds an item, and returns a function that removes it. */
  add(item: T): () => void {
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = item;
    let isIn = true;
    return () => {
      // If it were freed twice, a slot would be given to two items.
      if (!isIn) return;
      isIn = false;
      this.#slots[slot] = undefined;
      this.#free.push(slot);
    };
  }

  get items(): readonly T[] {
    return this.#slots.filter((item) => item !== undefined);
  }
}
