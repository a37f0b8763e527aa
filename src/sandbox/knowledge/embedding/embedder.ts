import { type Frequencies, featuresOf } from './features.ts';

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

/** The length of the vectors: of 512, 768 and 1024, it answered the most labelled questions about our docs. */
const dimensions = 1024;

/**
 * An embedder without a model, a network or a download. It compares words: whole words, pairs, and parts of words, so
 * that other endings and typos still match. It knows no meaning: a paraphrase or a question in another language finds
 * nothing, and its scores differ from a model's. The same text always gets the same vector.
 *
 * The weights are tf-idf (lnc.ltc): in documents the logarithm of a word's count, in queries that times the word's
 * rarity in all chunks. Without frequencies, all words are equally rare.
 */
export function offlineEmbedder(): Embedder {
  return {
    embed: async (texts, options) => texts.map((text) => vectorOf(text, options)),
  };
}

function vectorOf(text: string, { purpose, frequencies }: EmbedOptions): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [hash, { count, weight }] of featuresOf(text)) {
    const rarity = purpose === 'query' ? (frequencies?.rarity(hash) ?? 1) : 1;
    // Some features share a position: with random signs, they cancel out instead of adding up.
    const sign = hash >>> 31 === 0 ? 1 : -1;
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + sign * weight * (1 + Math.log(count)) * rarity;
  }
  return toUnitLength(vector);
}
