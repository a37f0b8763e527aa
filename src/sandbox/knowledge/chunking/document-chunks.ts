import { DocumentFailure } from '../document-problem.ts';
import { type ChunkOptions, chunk } from './chunk.ts';
import type { Embed } from './semantic.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The most chunks of a document: each is a vector in the memory of the sandbox. */
const maxChunks = 10_000;

/**
 * The chunks of a document with these texts. None spans two of them.
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
  // Not `push`: it takes each as an argument, and a long text may have more than a call takes.
  for (const text of texts) chunks = chunks.concat(await chunk(text, options, tokenizer, embed));
  if (chunks.length <= maxChunks) return chunks;
  const message = `The document would be cut into ${chunks.length} chunks, and ${maxChunks} is the most: choose larger ones`;
  throw new DocumentFailure({ code: 'too_many_chunks', message });
}
