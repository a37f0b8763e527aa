/** The parts that a text has by itself. Between two neighbours there is only white space. */
import type { SourceText, Span } from './source-text.ts';
import { tokenWindows } from './token-windows.ts';

/** Cuts a span into smaller ones. */
export type Split = (source: SourceText, span: Span) => readonly Span[];

/** Paragraphs: blank lines lie between them. */
export const paragraphs: Split = (source, span) => source.between(span, /\n[^\S\n]*\n\s*/g);

export const lines: Split = (source, span) => source.between(span, /\n/g);

/** Sentences. The end of a line ends none, because documents break lines within sentences; a blank line does. */
export const sentences: Split = (source, span) => {
  const segmenter = new Intl.Segmenter(source.language, { granularity: 'sentence' });
  return paragraphs(source, span).flatMap((paragraph) => {
    // As long as before, so that the offsets stay right.
    const unbroken = source.textOf(paragraph).replaceAll(/[\r\n]/g, ' ');
    const found: Span[] = [];
    for (const { index, segment } of segmenter.segment(unbroken)) {
      const start = paragraph.start + index;
      found.push({ start, end: start + segment.length });
    }
    return source.filled(found);
  });
};

/** Words, each with the punctuation right after it. Languages that write no spaces have words too. */
export const words: Split = (source, span) => {
  const segmenter = new Intl.Segmenter(source.language, { granularity: 'word' });
  const found: { start: number; end: number }[] = [];
  for (const { index, segment, isWordLike } of segmenter.segment(source.textOf(span))) {
    if (segment.trim() === '') continue;
    const start = span.start + index;
    const end = start + segment.length;
    const previous = found.at(-1);
    if (previous?.end === start && isWordLike !== true) previous.end = end;
    else found.push({ start, end });
  }
  return source.filled(found);
};

/**
 * The parts of a span by the first split; those of more than `size` tokens by the next one, and so on, and in the end by
 * tokens.
 */
export function unitsUpTo(
  source: SourceText,
  span: Span,
  size: number,
  [split, ...finer]: readonly Split[],
): readonly Span[] {
  if (!split) return [...tokenWindows(source, span, { size, overlap: 0 })];
  return split(source, span).flatMap((part) =>
    source.count(part) <= size ? [part] : unitsUpTo(source, part, size, finer),
  );
}
