/** Tables for the lists of `ringback inbox` on a terminal. Programs get lines of JSON instead. */

import { controls, escaped } from '../terminal.ts';

type Cell = string | number | Date | undefined;

export type Column<Item> = readonly [heading: string, cellOf: (item: Item) => Cell];

/** The width for terminals that report none or 0, such as those of a container or of `script`. */
const usualWidth = 80;
const gap = '  ';

/**
 * Lines of a table, cut where the terminal ends. What others have written can't move the cursor or
 * change the direction, and ids that differ only in what can't be seen don't look alike.
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
  return [head, ...rows].map((row) => lineOf(row, widths, width));
}

function lineOf(row: readonly string[], widths: readonly number[], width: number): string {
  const cells = row.map((cell, index) =>
    index === row.length - 1 ? cell : padded(cell, widths[index] ?? 0),
  );
  const line = cells.join(gap).trimEnd();
  const characters = charactersOf(line);
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** Times to the second in UTC, in the form that `--since` takes. */
function textOf(cell: Cell): string {
  if (cell === undefined) return '-';
  if (cell instanceof Date) return `${cell.toISOString().slice(0, 19)}Z`;
  return String(cell).replaceAll(controls, escaped);
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - lengthOf(text)));
}

function lengthOf(text: string): number {
  return charactersOf(text).length;
}

const segmenter = new Intl.Segmenter();

/** Grapheme clusters: what people see as one character. */
function charactersOf(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
