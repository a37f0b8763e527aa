import { gather } from './gather.ts';
import type { SourceText, Span } from './source-text.ts';
import { type Limits, tokenWindows } from './token-windows.ts';
import { type Split, lines, paragraphs, sentences, unitsUpTo, words } from './units.ts';

const levels: readonly Split[] = [paragraphs, lines, sentences, words];

/**
 * Gathers paragraphs. A paragraph that is too large becomes its own chunks, of its lines, and these if necessary of
 * their sentences, words and at last tokens. With an overlap, every chunk repeats whole words of the text before it.
 */
export function recursive(source: SourceText, { size, overlap }: Limits): readonly Span[] {
  // Most paragraphs are larger than the overlap and couldn't be repeated whole, so room is left for words.
  const chunks = [...cut(source, source.whole, size - overlap, levels)];
  return overlap === 0 ? chunks : extended(source, chunks, { size, overlap });
}

function* cut(
  source: SourceText,
  span: Span,
  size: number,
  [split, ...finer]: readonly Split[],
): Generator<Span, void, undefined> {
  if (!split) {
    yield* tokenWindows(source, span, { size, overlap: 0 });
    return;
  }
  let together: Span[] = [];
  for (const part of split(source, span)) {
    if (source.count(part) <= size) {
      together.push(part);
      continue;
    }
    yield* gather(source, together, { size, overlap: 0 });
    together = [];
    yield* cut(source, part, size, finer);
  }
  yield* gather(source, together, { size, overlap: 0 });
}

/** Extends each chunk by the last words before it, up to `overlap` tokens. */
function extended(source: SourceText, chunks: readonly Span[], { size, overlap }: Limits): readonly Span[] {
  const starts = unitsUpTo(source, source.whole, overlap, [words]).map(({ start }) => start);
  let before = 0;
  return chunks.map((chunk) => {
    while ((starts[before] ?? Infinity) < chunk.start) before += 1;
    let first = before;
    let tokens = 0;
    const startAt = (index: number) => Math.min(starts[index] ?? Infinity, chunk.start);
    while (first > 0) {
      tokens += source.count({ start: startAt(first - 1), end: startAt(first) });
      if (tokens > overlap) break;
      first -= 1;
    }
    // Joined words can have more tokens than single ones.
    while (first < before && source.count({ start: startAt(first), end: chunk.end }) > size) first += 1;
    return { start: startAt(first), end: chunk.end };
  });
}
