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

  /** Takes back what `add` has counted for the same text. */
  remove(text: string): void {
    this.#chunks = Math.max(0, this.#chunks - 1);
    for (const index of countersOf(text)) {
      this.#counts[index] = Math.max(0, (this.#counts[index] ?? 0) - 1);
    }
  }

  /** The inverse document frequency of a feature, by its hash: larger the fewer chunks have it, and never below 0. */
  rarity(hash: number): number {
    const count = this.#counts[counterOf(hash)] ?? 0;
    return Math.log((this.#chunks + 1) / (Math.min(count, this.#chunks) + 0.5) + 1);
  }

  /** All counts, as `fromBytes` reads them: the same on every machine. */
  toBytes(): Uint8Array {
    const view = new DataView(new ArrayBuffer(4 * (counters + 1)));
    view.setUint32(0, this.#chunks, true);
    for (const [index, count] of this.#counts.entries()) view.setUint32(4 * (index + 1), count, true);
    return new Uint8Array(view.buffer);
  }

  /** @throws RangeError if the bytes are not as many as `toBytes` gives */
  static fromBytes(bytes: Uint8Array): Frequencies {
    if (bytes.byteLength !== 4 * (counters + 1)) {
      throw new RangeError(`frequencies should have ${4 * (counters + 1)} bytes, not ${bytes.byteLength}`);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frequencies = new Frequencies();
    frequencies.#chunks = view.getUint32(0, true);
    for (let index = 0; index < counters; index += 1) {
      frequencies.#counts[index] = view.getUint32(4 * (index + 1), true);
    }
    return frequencies;
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
