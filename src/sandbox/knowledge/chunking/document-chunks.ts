import { DocumentFailure } from '../document-problem.ts';
import { type ChunkOptions, chunk } from './chunk.ts';
import type { Embed } from './semantic.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The most chunks of a document: each has a vector in memory. */
const maxChunks = 10_000;
/** The most characters of all chunks together: with a large overlap, each repeats nearly all of the one before. */
const maxCharacters = 20_000_000;

/**
 * The chunks of a document's texts. None spans two texts.
 *
 * @throws DocumentFailure `too_many_chunks`
 */
export async function chunksOf(
  texts: readonly string[],
  options: ChunkOptions,
  tokenizer: Tokenizer,
  embed: Embed,
): Promise<readonly string[]> {
  let chunks: readonly string[] = [];
  // Not `push(...)`: a long text may have more chunks than a call can have arguments.
  for (const text of texts) chunks = chunks.concat(await chunk(text, options, tokenizer, embed));
  if (chunks.length > maxChunks) {
    throw tooMany(
      `The document would be split into ${chunks.length} chunks, but at most ${maxChunks} are allowed: choose a larger chunk size`,
    );
  }
  if (chunks.reduce((sum, { length }) => sum + length, 0) > maxCharacters) {
    throw tooMany(
      `The chunks of the document overlap so much that they have more than ${maxCharacters} characters: choose a smaller overlap`,
    );
  }
  return chunks;
}

function tooMany(message: string): DocumentFailure {
  return new DocumentFailure({ code: 'too_many_chunks', message });
}
