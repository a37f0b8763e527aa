/** Text as long as a body, in pieces. */

/** How long a piece may be, in characters. */
const longest = 2_000;

/**
 * What others have written, at any length. A browser orders each line of a paragraph in two directions by going through all
 * of the paragraph: a long one would hold it up for minutes. So each piece is a paragraph of its own, and is laid out
 * when it is seen. What is copied is the text as it came.
 */
export function LongText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <pre tabIndex={0} aria-label={label}>
      {piecesOf(text).map((piece, place) => (
        <span key={place} dir="auto">
          {piece}
        </span>
      ))}
    </pre>
  );
}

/** Pieces that end with a line if they can, else between words, and never within a character. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + longest + 1);
    const length = piece.length <= longest ? piece.length : endIn(piece);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** Where a piece ends of which there is one character too many. */
function endIn(piece: string): number {
  const [line, word] = [piece.lastIndexOf('\n', longest - 1), piece.lastIndexOf(' ', longest - 1)];
  const end = [line, word].find((place) => place > 0);
  if (end !== undefined) return end + 1;
  return (piece.codePointAt(longest - 1) ?? 0) > 0xff_ff ? longest - 1 : longest;
}
