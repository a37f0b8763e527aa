import { pieceEnds } from './tokenizer.ts';
import type { SourceText, Span } from './source-text.ts';

/** The largest chunk, and how much of it the next one repeats, in tokens. */
export interface Limits {
  readonly size: number;
  readonly overlap: number;
}

/**
 * Windows of as many tokens as fit into `size`, each beginning with up to `overlap` tokens of the one before. They are
 * split between characters. A character of more than `size` tokens is its own window: an emoji may have several.
 */
export function* tokenWindows(
  source: SourceText,
  span: Span,
  { size, overlap }: Limits,
): Generator<Span, void, undefined> {
  let { start, end: last } = source.trimmed(span);
  let done = start;
  while (done < last) {
    let end = windowEnd(source, { start, end: last }, size);
    // A prefix can have other tokens than the whole; the window must bring something new.
    if (end <= done) {
      start = done;
      end = windowEnd(source, { start, end: last }, size);
    }
    yield source.trimmed({ start, end });
    done = source.trimmed({ start: end, end: last }).start;
    start = overlap === 0 ? done : overlapStart(source, { start, end }, { size, overlap });
    start = source.trimmed({ start, end: last }).start;
  }
}

/** The end of the window at the start of the span: after the last character with at most `size` tokens up to it. */
function windowEnd(source: SourceText, span: Span, size: number): number {
  for (let tokens = size; ; tokens -= 1) {
    const end = prefixEnd(source, span, tokens);
    // Separated from the rest, and without white space, a text can have more tokens.
    if (tokens === 0 || source.count(source.trimmed({ start: span.start, end })) <= size) return end;
  }
}

/** The start of the next window: up to `overlap` tokens before the end of this one, and after its start. */
function overlapStart(source: SourceText, { start, end }: Span, { size, overlap }: Limits): number {
  let next = prefixEnd(source, { start, end }, size - overlap);
  while (next < end && source.count(source.trimmed({ start: next, end })) > overlap) {
    next = prefixEnd(source, { start: next, end }, 1);
  }
  return next;
}

/** The end of the longest prefix of a span with up to `tokens` tokens, but at least one character. */
function prefixEnd(source: SourceText, { start, end }: Span, tokens: number): number {
  let left = tokens;
  let reached = start;
  for (const pieceEnd of pieceEnds(source.text, start)) {
    const piece = { start: reached, end: Math.min(pieceEnd, end) };
    const count = source.count(piece);
    if (count > left) return cutWithin(source, piece, left, start);
    left -= count;
    reached = piece.end;
    if (reached === end) break;
  }
  return reached;
}

/** The last boundary between two characters of a piece with up to `tokens` tokens before it. */
function cutWithin(source: SourceText, piece: Span, tokens: number, first: number): number {
  let fits = piece.start;
  let tooFar = piece.end;
  while (tooFar - fits > 1) {
    const middle = (fits + tooFar) >> 1;
    if (source.count({ start: piece.start, end: middle }) <= tokens) fits = middle;
    else tooFar = middle;
  }
  const boundary = source.characterBoundary(fits);
  if (boundary > first) return boundary;
  // A character with accents and joiners exceeds the limit: it is split, but between code points.
  const codePoint = source.codePointBoundary(fits);
  return codePoint > first
    ? codePoint
    : first + String.fromCodePoint(source.text.codePointAt(first) ?? 0).length;
}
