/** Tables for the lists of `ringback inbox` on a terminal. Programs get lines of JSON instead. */

import { controls, escaped } from '../terminal.ts';

type Cell = string | number | Date | undefined;

/** `below`: on a terminal that is too narrow for all columns, this one and those after it go on lines of their own. */
export type Column<Item> = readonly [heading: string, cellOf: (item: Item) => Cell, place?: 'below'];

/** The width for terminals that report none or 0, such as those of a container or of `script`. */
const usualWidth = 80;
const gap = '  ';
const indent = '    ';

/**
 * The headings and each item of a table, cut where the terminal ends; what goes below is wrapped there. What others have
 * written can't move the cursor or change the direction, and ids that differ only in what can't be seen don't look
 * alike.
 */
export function tableLines<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  terminalWidth: number | undefined,
): readonly string[] {
  const width = terminalWidth || usualWidth;
  const rows = items.map((item) => columns.map(([, cellOf]) => textOf(cellOf(item))));
  const head = columns.map(([heading]) => heading.toUpperCase());
  const widths = head.map((heading, index) =>
    Math.max(heading.length, ...rows.map((row) => lengthOf(row[index] ?? ''))),
  );
  const isTooNarrow = widthOf(widths) > width;
  const below = isTooNarrow ? columns.findIndex(([, , place]) => place === 'below') : -1;
  const split = below === -1 ? columns.length : below;
  return [head, ...rows].map((row) =>
    [
      cut(padded(row.slice(0, split), widths), width),
      ...belowLines(row.slice(split), widths.slice(split), Math.max(1, width - indent.length)),
    ].join('\n'),
  );
}

/** The lines for what goes below a row: in columns if these fit, otherwise as text that is wrapped. */
function belowLines(row: readonly string[], widths: readonly number[], width: number): readonly string[] {
  if (row.length === 0) return [];
  const line = widthOf(widths) <= width ? padded(row, widths) : row.join(gap);
  const characters = charactersOf(line);
  const lines: string[] = [];
  for (let start = 0; start < characters.length; start += width) {
    const part = characters.slice(start, start + width).join('');
    lines.push(indent + part.trimEnd());
  }
  return lines;
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
}

function padded(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map(
    (cell, index) => cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - lengthOf(cell))),
  );
  return cells.join(gap).trimEnd();
}

function cut(line: string, width: number): string {
  const characters = charactersOf(line);
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** Times to the second in UTC, in the form that `--since` takes. */
function textOf(cell: Cell): string {
  if (cell === undefined) return '-';
  if (cell instanceof Date) return `${cell.toISOString().slice(0, 19)}Z`;
  return String(cell).replaceAll(controls, escaped);
}

function lengthOf(text: string): number {
  return charactersOf(text).length;
}

const segmenter = new Intl.Segmenter();

/** Grapheme clusters: what people see as one character. */
function charactersOf(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
