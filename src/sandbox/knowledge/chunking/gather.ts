import type { SourceText, Span } from './source-text.ts';
import type { Limits } from './token-windows.ts';

interface Unit extends Span {
  /** Including the white space before it. */
  readonly tokens: number;
}

/**
 * Gathers neighbouring units into chunks of up to `size` tokens. A chunk begins with the last whole units of the one
 * before that have up to `overlap` tokens. No unit may have more tokens than `size`.
 */
export function gather(source: SourceText, spans: readonly Span[], limits: Limits): readonly Span[] {
  const units = measured(source, spans);
  const chunks: Span[] = [];
  let done = 0;
  while (done < units.length) {
    const chunk = nextChunk(source, units, done, limits);
    chunks.push(chunk.span);
    done = chunk.done;
  }
  return chunks;
}

function measured(source: SourceText, spans: readonly Span[]): readonly Unit[] {
  return spans.map(({ start, end }, index) => {
    const before = spans[index - 1]?.end ?? start;
    return { start, end, tokens: source.count({ start: before, end }) };
  });
}

/** The chunk whose first new unit is at `done`, and how many units are in chunks afterwards. */
function nextChunk(
  source: SourceText,
  units: readonly Unit[],
  done: number,
  { size, overlap }: Limits,
): { readonly span: Span; readonly done: number } {
  const tokensAt = (index: number) => units[index]?.tokens ?? Infinity;
  const room = Math.min(overlap, size - tokensAt(done));
  let first = done;
  let repeated = 0;
  while (repeated + tokensAt(first - 1) <= room) repeated += tokensAt(--first);
  let next = done + 1;
  let tokens = repeated + tokensAt(done);
  while (tokens + tokensAt(next) <= size) tokens += tokensAt(next++);
  const span = () => ({ start: units[first]?.start ?? 0, end: units[next - 1]?.end ?? 0 });
  // Joined units can have more tokens than single ones.
  while (next - first > 1 && source.count(span()) > size) {
    if (next > done + 1) next -= 1;
    else first += 1;
  }
  return { span: span(), done: next };
}
