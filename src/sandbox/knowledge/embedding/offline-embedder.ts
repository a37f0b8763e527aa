import { type EmbedOptions, type Embedder, toUnitLength } from './embedder.ts';
import { featuresOf } from './features.ts';

/** How long the vectors are: of 512, 768 and 1024, this found the most for labelled questions about the project's documentation. */
const dimensions = 1024;

/**
 * An embedder without a model, a network or a download. It compares words: whole ones, pairs, and their parts, so that
 * another ending or a slip of the pen still fits. It knows no meaning: a question in other words than the answer's, or in
 * another language, finds nothing, and its scores are not those of a model. The same text always gets the same vector.
 *
 * The weights are those of tf-idf (lnc.ltc): in documents the logarithm of how often a word occurs, in queries that times
 * how rare it is in all chunks. Without frequencies, all words count alike.
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
    // Some features share a place: with a random sign, they cancel out instead of adding up.
    const sign = hash >>> 31 === 0 ? 1 : -1;
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + sign * weight * (1 + Math.log(count)) * rarity;
  }
  return toUnitLength(vector);
}
