import type { Tokenizer } from './tokenizer.ts';

/** A part of a text, from the offset `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Longer than any character in use, in UTF-16 code units. */
const nearby = 64;

/** A text to split, with its tokenizer. Its parts are spans, so that nothing of it can be lost or changed. */
export class SourceText {
  readonly text: string;
  /** BCP 47: the rules for sentences and words differ. */
  readonly language: string;
  readonly #tokenizer: Tokenizer;
  readonly #characters: Intl.Segmenter;

  constructor(text: string, language: string, tokenizer: Tokenizer) {
    this.text = text;
    this.language = language;
    this.#tokenizer = tokenizer;
    this.#characters = new Intl.Segmenter(language, { granularity: 'grapheme' });
  }

  get whole(): Span {
    return this.trimmed({ start: 0, end: this.text.length });
  }

  textOf({ start, end }: Span): string {
    return this.text.slice(start, end);
  }

  count(span: Span): number {
    return this.#tokenizer.count(this.textOf(span));
  }

  /** The span without surrounding white space; may be empty. */
  trimmed(span: Span): Span {
    const text = this.textOf(span).trimEnd();
    return { start: span.start + text.length - text.trimStart().length, end: span.start + text.length };
  }

  /**
   * The last offset up to this one between two user-perceived characters, with their accents and joiners; between two
   * code points if a character is too long to find its beginning.
   */
  characterBoundary(offset: number): number {
    // Looks only nearby: finding the beginning of a character can take as long as all of the text before it.
    const from = this.codePointBoundary(Math.max(0, offset - nearby));
    const near = this.#characters.segment(this.text.slice(from, offset + nearby));
    const character = near.containing(offset - from);
    if (!character) return offset;
    return character.index === 0 && from > 0 ? this.codePointBoundary(offset) : from + character.index;
  }

  /** The offset, or the one before it if it is within a surrogate pair. */
  codePointBoundary(offset: number): number {
    return (this.text.codePointAt(offset - 1) ?? 0) > 0xff_ff ? offset - 1 : offset;
  }

  /** The parts between the matches of a pattern, trimmed and without empty ones. */
  between(span: Span, separator: RegExp): readonly Span[] {
    const parts: Span[] = [];
    let start = 0;
    const text = this.textOf(span);
    for (const match of text.matchAll(separator)) {
      parts.push({ start: span.start + start, end: span.start + match.index });
      start = match.index + match[0].length;
    }
    parts.push({ start: span.start + start, end: span.end });
    return this.filled(parts);
  }

  filled(spans: readonly Span[]): readonly Span[] {
    return spans.map((span) => this.trimmed(span)).filter(({ start, end }) => start < end);
  }
}
