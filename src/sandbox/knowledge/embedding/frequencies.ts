import { featuresOf } from './features.ts';

/** The number of counters, which features share: a large knowledge base has more features. */
const counters = 65_536;

/** In how many chunks each feature occurs: rare features say more about what a question is after. */
export class Frequencies {
  #chunks = 0;
  readonly #counts = new Uint32Array(counters);

  add(text: string): void {
    this.#chunks += 1;
    for (const index of countersOf(text)) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Adds counts in the form of `toBytes`. */
  merge(bytes: Uint8Array): void {
    // Not `slice`, which doesn't copy a Buffer: its memory may be larger.
    const numbers = new Uint32Array(new Uint8Array(bytes).buffer);
    this.#chunks += numbers[0] ?? 0;
    for (let place = 1; place + 1 < numbers.length; place += 2) {
      const index = numbers[place] ?? 0;
      this.#counts[index] = (this.#counts[index] ?? 0) + (numbers[place + 1] ?? 0);
    }
  }

  /** The inverse document frequency of a feature, by its hash: larger the fewer chunks have it, and never below 0. */
  rarity(hash: number): number {
    const count = this.#counts[counterOf(hash)] ?? 0;
    return Math.log((this.#chunks + 1) / (Math.min(count, this.#chunks) + 0.5) + 1);
  }

  /** The number of chunks, then index and count of each nonzero counter: short for a short document. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const numbers = [this.#chunks];
    for (const [index, count] of this.#counts.entries()) if (count > 0) numbers.push(index, count);
    return new Uint8Array(Uint32Array.from(numbers).buffer);
  }
}

/** A chunk counts once for a counter, even if several of its features share it. */
function countersOf(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (const hash of featuresOf(text).keys()) found.add(counterOf(hash));
  return found;
}

/** Not the lowest bits, which determine vector positions: features that collide there shouldn't collide here. */
function counterOf(hash: number): number {
  return (hash >>> 12) % counters;
}
