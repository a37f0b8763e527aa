import { pieceEnds } from './tokenizer.ts';
import type { SourceText, Span } from './source-text.ts';

/** How large chunks may be, and how much the next one repeats of the last, in tokens. */
export interface Limits {
  readonly size: number;
  readonly overlap: number;
}

/**
 * Windows of as many tokens as fit into `size`, each beginning with up to `overlap` tokens of the one before. They are
 * cut between characters. One with more tokens than `size` is a window of its own: an emoji may have several.
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
    // Tokens of a beginning can be others than within the whole: the window must bring something new.
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

/** Where the window ends that begins with the span: at the last character up to which there are no more than `size` tokens. */
function windowEnd(source: SourceText, span: Span, size: number): number {
  for (let tokens = size; ; tokens -= 1) {
    const end = prefixEnd(source, span, tokens);
    // Cut off from what follows, and without white space, a text can have more tokens.
    if (tokens === 0 || source.count(source.trimmed({ start: span.start, end })) <= size) return end;
  }
}

/** Where the next window begins: up to `overlap` tokens before the end of this one, and after its beginning. */
function overlapStart(source: SourceText, { start, end }: Span, { size, overlap }: Limits): number {
  let next = prefixEnd(source, { start, end }, size - overlap);
  while (next < end && source.count(source.trimmed({ start: next, end })) > overlap) {
    next = prefixEnd(source, { start: next, end }, 1);
  }
  return next;
}

/** The end of the longest beginning of a span with up to so many tokens, but at least of its first character. */
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

/** The last boundary between two characters of a piece before which there are up to so many tokens. */
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
  // One character with its accents and joiners has more tokens than there may be: it is cut, but no code point is.
  const codePoint = source.codePointBoundary(fits);
  return codePoint > first
    ? codePoint
    : first + String.fromCodePoint(source.text.codePointAt(first) ?? 0).length;
}
