import { featuresOf } from './features.ts';

/** How many counters there are. Features share them: there are more features than that in a large knowledge base. */
const counters = 65_536;

/** In how many chunks each feature occurs: what occurs in few of them says more about what a question is after. */
export class Frequencies {
  #chunks = 0;
  readonly #counts = new Uint32Array(counters);

  /** Counts the features of a chunk. */
  add(text: string): void {
    this.#chunks += 1;
    for (const index of countersOf(text)) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Adds what was counted elsewhere, given as `toBytes` gives it, or takes it away again. */
  merge(bytes: Uint8Array, sign: 1 | -1 = 1): void {
    // Not `slice`: for a Buffer, that is no copy, and what it lies in may be larger.
    const numbers = new Uint32Array(new Uint8Array(bytes).buffer);
    this.#chunks += sign * (numbers[0] ?? 0);
    for (let place = 1; place + 1 < numbers.length; place += 2) {
      const index = numbers[place] ?? 0;
      this.#counts[index] = (this.#counts[index] ?? 0) + sign * (numbers[place + 1] ?? 0);
    }
  }

  /** The inverse document frequency of a feature, by its hash: larger the fewer chunks have it, and never below 0. */
  rarity(hash: number): number {
    const count = this.#counts[counterOf(hash)] ?? 0;
    return Math.log((this.#chunks + 1) / (Math.min(count, this.#chunks) + 0.5) + 1);
  }

  /** The number of chunks, and of each counter that is not 0 its place and count: few for a short document. */
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

/** Not by the last bits, which give features their places in vectors: those that share one there should not share both. */
function counterOf(hash: number): number {
  return (hash >>> 12) % counters;
}
