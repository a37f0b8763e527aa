/** Assembles a text from pieces: pieces form lines, and lines form blocks separated by blank lines. */
export class TextBlocks {
  readonly #blocks: string[] = [];
  #pieces: string[] = [];
  /** Whether a space would follow another, or begin a line. */
  #isAfterBlank = true;
  #isAtStartOfLine = true;

  get isAtStartOfLine(): boolean {
    return this.#isAtStartOfLine;
  }

  /** Adds text to the line. Runs of white space become one space unless the text is preformatted. */
  add(text: string, isPreformatted = false): void {
    const piece = isPreformatted ? text : text.replace(/[\s\u00a0]+/g, ' ');
    const added = this.#isAfterBlank && !isPreformatted ? piece.replace(/^ /, '') : piece;
    if (added === '') return;
    this.#pieces.push(added);
    this.#isAfterBlank = /\s$/.test(added);
    this.#isAtStartOfLine = added.endsWith('\n');
  }

  breakLine(): void {
    this.#pieces.push('\n');
    this.#isAfterBlank = true;
    this.#isAtStartOfLine = true;
  }

  endBlock(): void {
    const block = this.#pieces
      .join('')
      .replace(/^\s*\n/, '')
      .trimEnd();
    if (block.trim() !== '') this.#blocks.push(block);
    this.#pieces = [];
    this.#isAfterBlank = true;
    this.#isAtStartOfLine = true;
  }

  toString(): string {
    this.endBlock();
    return this.#blocks.join('\n\n');
  }
}
