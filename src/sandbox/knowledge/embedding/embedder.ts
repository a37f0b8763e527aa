import type { Frequencies } from './frequencies.ts';

export interface EmbedOptions {
  /** Documents and queries are weighted differently. */
  readonly purpose: 'document' | 'query';
  /** The frequencies of features in the searched chunks, by which an embedder without a model recognizes rare words. */
  readonly frequencies?: Frequencies;
  readonly signal?: AbortSignal;
}

/** Turns texts into vectors. The more similar two texts are, the larger is their dot product. */
export interface Embedder {
  /** Vectors of unit length, in the order of the texts; a zero vector for a text without features. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly Float32Array[]>;
}

/** How far a length may be from 1, within the precision of 32-bit numbers. */
const rounding = 1e-6;

/**
 * Scales a vector to unit length; a zero vector stays. Uses loops, because an index does this for thousands of vectors
 * while the sandbox waits, and callbacks for each number take twenty times as long.
 */
export function toUnitLength(vector: Float32Array): Float32Array {
  let sum = 0;
  for (let index = 0; index < vector.length; index += 1) sum += (vector[index] ?? 0) ** 2;
  const length = Math.sqrt(sum);
  if (length === 0 || Math.abs(length - 1) < rounding) return vector;
  const unit = new Float32Array(vector.length);
  for (let index = 0; index < vector.length; index += 1) unit[index] = (vector[index] ?? 0) / length;
  return unit;
}
