/** The maximum length of a piece, in characters. */
const maxLength = 2_000;

/** Foreign text of any length, in a region of its own. */
export function LongText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <pre class="long" tabIndex={0} aria-label={label}>
      <Pieces text={text} />
    </pre>
  );
}

/**
 * Foreign text of any length, for an element with the class `long`. To order a line with mixed directions, a browser
 * processes its whole paragraph, so a long one would freeze the page for minutes. So the text is split into paragraphs
 * that are laid out when they are visible. Copying yields the original text.
 */
export function Pieces({ text }: { readonly text: string }) {
  return piecesOf(text).map((piece, index) => (
    <span key={index} dir="auto">
      {piece}
    </span>
  ));
}

/** Pieces that end at a line break if possible, else at a space, and never within a character. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + maxLength + 1);
    const length = piece.length <= maxLength ? piece.length : endIn(piece);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** Where to end a piece that is one character too long. */
function endIn(piece: string): number {
  const [line, word] = [piece.lastIndexOf('\n', maxLength - 1), piece.lastIndexOf(' ', maxLength - 1)];
  const end = [line, word].find((index) => index > 0);
  if (end !== undefined) return end + 1;
  return (piece.codePointAt(maxLength - 1) ?? 0) > 0xff_ff ? maxLength - 1 : maxLength;
}
