import type { Frequencies } from './frequencies.ts';

/** What texts are embedded for, and what helps with it. */
export interface EmbedOptions {
  /** Documents and queries are weighted differently. */
  readonly purpose: 'document' | 'query';
  /** What the chunks that are searched contain: an embedder without a model needs it to tell rare words from common ones. */
  readonly frequencies?: Frequencies;
  /** Ends a request that is under way. */
  readonly signal?: AbortSignal;
}

/** Turns texts into vectors: the more alike two texts are, the larger is the dot product of theirs. */
export interface Embedder {
  readonly name: string;
  /** Vectors of unit length, in the order of the texts. One of nothing but zeros is for a text that says nothing. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly Float32Array[]>;
}

/** Makes a vector one of unit length; one of nothing but zeros stays so. */
export function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
