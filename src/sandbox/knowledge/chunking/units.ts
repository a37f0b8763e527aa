/** The natural parts of a text, with only white space between neighbours. */
import type { SourceText, Span } from './source-text.ts';
import { tokenWindows } from './token-windows.ts';

export type Split = (source: SourceText, span: Span) => readonly Span[];

export const paragraphs: Split = (source, span) => source.between(span, /\n[^\S\n]*\n\s*/g);

export const lines: Split = (source, span) => source.between(span, /\n/g);

/** Sentences. A line break doesn't end a sentence, because documents wrap lines; a blank line does. */
export const sentences: Split = (source, span) => {
  const segmenter = new Intl.Segmenter(source.language, { granularity: 'sentence' });
  return paragraphs(source, span).flatMap((paragraph) => {
    // Of the same length, so that the offsets stay right.
    const unbroken = source.textOf(paragraph).replaceAll(/[\r\n]/g, ' ');
    const found: Span[] = [];
    for (const { index, segment } of segmenter.segment(unbroken)) {
      const start = paragraph.start + index;
      found.push({ start, end: start + segment.length });
    }
    return source.filled(found);
  });
};

/** Words, each with the punctuation right after it, even in languages without spaces. */
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

/** Splits a span by the first split, larger parts by the next one, and so on, at last by tokens. */
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
