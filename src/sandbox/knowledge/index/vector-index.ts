import { toUnitLength } from '../embedding/embedder.ts';

/** A found vector, and its cosine similarity to the query, from -1 to 1. */
export interface Match {
  readonly id: number;
  readonly score: number;
}

/** How many vectors are compared at once: one by one took 1.7 to 3.4 times as long. */
const together = 4;

/** How many vectors share a block of memory: a multiple of `together`. */
const blockSize = 1_024;

/**
 * Finds the most similar vectors exactly, by comparing all of them. They are stored in blocks: a single growing array
 * would be copied repeatedly, which takes a tenth of a second and twice the memory for many vectors.
 */
export class VectorIndex {
  /** The length of every vector; unknown before the first one. */
  #dimensions = 0;
  readonly #blocks: Float32Array[] = [];
  /** The id of each vector, in the order of the vectors. */
  readonly #ids: number[] = [];
  readonly #positions = new Map<number, number>();

  /** The length of every vector; 0 without any. */
  get dimensions(): number {
    return this.size === 0 ? 0 : this.#dimensions;
  }

  /** How many vectors there are. */
  get size(): number {
    return this.#ids.length;
  }

  /**
   * Adds a vector, or replaces the one with the same id. All vectors have the same length.
   *
   * @throws RangeError if its length differs
   */
  add(id: number, vector: Float32Array): void {
    if (this.size === 0) this.#begin(vector);
    this.#requireDimensions(vector);
    const position = this.#positions.get(id) ?? this.size;
    this.#write(position, toUnitLength(vector));
    this.#ids[position] = id;
    this.#positions.set(id, position);
  }

  /** Removes the vector with that id, if there is one. */
  remove(id: number): void {
    const position = this.#positions.get(id);
    const lastId = this.#ids.at(-1);
    if (position === undefined || lastId === undefined) return;
    // The last one moves into its place, so that there is no gap.
    this.#write(position, this.#read(this.size - 1));
    this.#ids[position] = lastId;
    this.#positions.set(lastId, position);
    this.#ids.pop();
    this.#positions.delete(id);
  }

  /**
   * The `limit` most similar vectors, the best first; of equal scores, the smaller id first.
   *
   * @throws RangeError if the vector's length differs
   */
  search(vector: Float32Array, limit: number): readonly Match[] {
    if (this.size === 0 || limit < 1) return [];
    this.#requireDimensions(vector);
    const query = toUnitLength(vector);
    const best: Match[] = [];
    for (let position = 0; position < this.size; position += together) {
      for (const [offset, score] of this.#scoresFrom(position, query).entries()) {
        const id = this.#ids[position + offset];
        if (id !== undefined) keep(best, { id, score }, limit);
      }
    }
    return best;
  }

  /** The scores of the `together` vectors from a position on. */
  #scoresFrom(position: number, query: Float32Array): readonly [number, number, number, number] {
    const vectors = this.#blockOf(position);
    const first = (position % blockSize) * this.#dimensions;
    const second = first + this.#dimensions;
    const third = second + this.#dimensions;
    const fourth = third + this.#dimensions;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let index = 0; index < query.length; index += 1) {
      const value = query[index] ?? 0;
      a += value * (vectors[first + index] ?? 0);
      b += value * (vectors[second + index] ?? 0);
      c += value * (vectors[third + index] ?? 0);
      d += value * (vectors[fourth + index] ?? 0);
    }
    return [a, b, c, d];
  }

  #requireDimensions({ length }: Float32Array): void {
    if (length !== this.#dimensions) {
      throw new RangeError(`a vector should have ${this.#dimensions} numbers, not ${length}`);
    }
  }

  /** The first vector determines the length of all others. */
  #begin({ length }: Float32Array): void {
    if (length !== this.#dimensions) this.#blocks.length = 0;
    this.#dimensions = length;
  }

  #read(position: number): Float32Array {
    const start = (position % blockSize) * this.#dimensions;
    return this.#blockOf(position).subarray(start, start + this.#dimensions);
  }

  #write(position: number, vector: Float32Array): void {
    this.#blockOf(position).set(vector, (position % blockSize) * this.#dimensions);
  }

  /** The block of a vector, created if necessary. */
  #blockOf(position: number): Float32Array {
    return (this.#blocks[Math.floor(position / blockSize)] ??= new Float32Array(
      blockSize * this.#dimensions,
    ));
  }
}

/** Keeps a match if it is among the best. */
function keep(best: Match[], match: Match, limit: number): void {
  const last = best.at(-1);
  if (best.length >= limit && last && comesBefore(last, match)) return;
  insert(best, match);
  if (best.length > limit) best.pop();
}

function comesBefore(left: Match, right: Match): boolean {
  return left.score === right.score ? left.id < right.id : left.score > right.score;
}

/** Inserts a match into a sorted list. */
function insert(sorted: Match[], match: Match): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = sorted[middle];
    if (other && comesBefore(other, match)) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, match);
}
