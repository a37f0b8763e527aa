import type { Frequencies } from './frequencies.ts';

/** What texts are embedded for, and what helps with it. */
export interface EmbedOptions {
  /** Documents and queries are weighted differently. */
  readonly purpose: 'document' | 'query';
  /** What the chunks that are searched contain: an embedder without a model needs it to tell rare words from common ones. */
  readonly frequencies?: Frequencies;
  /** Ends a request that is in flight. */
  readonly signal?: AbortSignal;
}

/** Turns texts into vectors: the more alike two texts are, the larger is the dot product of theirs. */
export interface Embedder {
  /** Vectors of unit length, in the order of the texts. One of nothing but zeros is for a text that says nothing. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly Float32Array[]>;
}

/** How far a length may be from 1: numbers of 32 bits are no more exact. */
const rounding = 1e-6;

/**
 * Makes a vector one of unit length; one of nothing but zeros stays so. With loops, because an index does it for thousands of
 * vectors while the sandbox waits: functions that are called for each number take twenty times as long.
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
