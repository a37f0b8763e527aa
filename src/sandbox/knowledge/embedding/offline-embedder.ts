import { type EmbedOptions, type Embedder, toUnitLength } from './embedder.ts';
import { featuresOf } from './features.ts';

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
