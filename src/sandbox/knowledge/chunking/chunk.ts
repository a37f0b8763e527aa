import { DocumentFailure } from '../document-problem.ts';
import { gather } from './gather.ts';
import { recursive } from './recursive.ts';
import { type Embed, semantic } from './semantic.ts';
import { SourceText, type Span } from './source-text.ts';
import { tokenWindows } from './token-windows.ts';
import type { Tokenizer } from './tokenizer.ts';
import { lines, paragraphs, sentences, unitsUpTo, words } from './units.ts';

/** How new material is split into chunks (platform document, ChunkingStrategy). */
export const chunkingStrategies = ['fixed_size', 'semantic', 'sentence', 'paragraph', 'recursive'] as const;

export type ChunkingStrategy = (typeof chunkingStrategies)[number];

export interface ChunkOptions {
  readonly strategy: ChunkingStrategy;
  /** The most tokens of a chunk, from 1. */
  readonly size: number;
  /** How many tokens of a chunk the next one may repeat, from 0 and less than `size`. */
  readonly overlap: number;
  /** The language of the text (BCP 47), for its sentences and words. */
  readonly language: string;
}

/**
 * Splits text into chunks of up to `size` tokens, in order:
 *
 * - `fixed_size`: windows of `size` tokens, wherever they end
 * - `semantic`: sentences, up to where the subject changes
 * - `sentence`, `paragraph`: as many whole ones as fit
 * - `recursive`: paragraphs; lines, sentences, words or tokens where a part is larger than a chunk
 *
 * Every strategy splits parts that are larger than a chunk. Every character except white space is in a chunk. A
 * character of more than `size` tokens (an emoji has up to 4) is its own chunk, the only kind that is too large.
 *
 * @param embed returns vectors of unit length; only called by the semantic strategy, at most once
 */
export async function chunk(
  text: string,
  { strategy, language, ...limits }: ChunkOptions,
  tokenizer: Tokenizer,
  embed: Embed,
): Promise<readonly string[]> {
  const source = new SourceText(text, language, tokenizer);
  const spans = {
    fixed_size: () => [...tokenWindows(source, source.whole, limits)],
    semantic: () => semantic(source, limits, embed),
    sentence: () =>
      gather(source, unitsUpTo(source, source.whole, limits.size, [sentences, lines, words]), limits),
    paragraph: () =>
      gather(source, unitsUpTo(source, source.whole, limits.size, [paragraphs, sentences, words]), limits),
    recursive: () => recursive(source, limits),
  } satisfies Record<ChunkingStrategy, () => readonly Span[] | Promise<readonly Span[]>>;
  return (await spans[strategy]()).map((span) => source.textOf(span));
}

/** The most chunks of a document: each has a vector in memory. */
const maxChunks = 10_000;
/** The most characters of all chunks together: with a large overlap, each repeats nearly all of the one before. */
const maxCharacters = 20_000_000;

/** The chunks of a document's texts. None spans two texts. @throws DocumentFailure `too_many_chunks` */
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
