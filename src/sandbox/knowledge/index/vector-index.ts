import { toUnitLength } from '../embedding/embedder.ts';

/** A vector that was found, and how alike it is: its cosine with the one that was searched for, from -1 to 1. */
export interface Match {
  readonly id: number;
  readonly score: number;
}

/** How many vectors are compared at once: each number of the query is read once for all of them. */
const together = 4;

/** Finds the most similar vectors, exactly: it compares all of them. They lie one after the other in memory. */
export class VectorIndex {
  /** The length of every vector; unknown before the first one. */
  #dimensions = 0;
  #vectors = new Float32Array(0);
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
   * Adds a vector, instead of the one with the same id if there is one. All vectors have the same length.
   *
   * @throws RangeError if it is longer or shorter than those that are there
   */
  add(id: number, vector: Float32Array): void {
    if (this.size === 0) this.#dimensions = vector.length;
    this.#requireDimensions(vector);
    const position = this.#positions.get(id) ?? this.size;
    this.#grow((position + 1) * this.#dimensions);
    this.#vectors.set(toUnitLength(vector), position * this.#dimensions);
    this.#ids[position] = id;
    this.#positions.set(id, position);
  }

  /** Removes the vector with that id, if there is one. */
  remove(id: number): void {
    const position = this.#positions.get(id);
    const lastId = this.#ids.at(-1);
    if (position === undefined || lastId === undefined) return;
    // The last one takes its place, so that there is no gap.
    const last = (this.size - 1) * this.#dimensions;
    this.#vectors.copyWithin(position * this.#dimensions, last, last + this.#dimensions);
    this.#ids[position] = lastId;
    this.#positions.set(lastId, position);
    this.#ids.pop();
    this.#positions.delete(id);
  }

  /**
   * Up to `limit` vectors with a score of at least `minScore`, the most similar first; of the same score, the smaller id.
   *
   * @throws RangeError if the vector is longer or shorter than those that are there
   */
  search(vector: Float32Array, limit: number, minScore = -Infinity): readonly Match[] {
    if (this.size === 0 || limit < 1) return [];
    this.#requireDimensions(vector);
    const query = toUnitLength(vector);
    const best: Match[] = [];
    for (let position = 0; position < this.size; position += together) {
      for (const [offset, score] of this.#scoresFrom(position, query).entries()) {
        const id = this.#ids[position + offset];
        if (id !== undefined && score >= minScore) keep(best, { id, score }, limit);
      }
    }
    return best;
  }

  /** The scores of the vectors at a position and after it. */
  #scoresFrom(position: number, query: Float32Array): readonly [number, number, number, number] {
    const vectors = this.#vectors;
    const first = position * this.#dimensions;
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

  /** Makes room for so many numbers. Twice the room each time keeps the copying short on the whole. */
  #grow(length: number): void {
    if (length <= this.#vectors.length) return;
    const grown = new Float32Array(Math.max(length, 2 * this.#vectors.length));
    grown.set(this.#vectors);
    this.#vectors = grown;
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

/** Inserts a match at its place among sorted ones. */
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
