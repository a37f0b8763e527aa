import type { Command } from 'commander';
import { once } from 'node:events';
import { argument } from '../arguments.ts';
import { onOutputFailure, remark } from '../stderr.ts';
import { withoutControls } from '../terminal.ts';
import { type Column, tableLines } from './table.ts';

/** The default limit: an inbox may have millions of items. */
const usual = 100;

export function takesLimit(command: Command): Command {
  const read = argument("a whole number above 0, or 'all'", readLimit);
  return command.option('--limit <number>', `how many to print at most, or all (default: ${usual})`, read);
}

function readLimit(value: unknown): number | undefined {
  if (value === 'all') return Infinity;
  return typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
}

/** Prints a value as a line of JSON. Waits for a slow reader, so that memory is bounded. */
async function printLine(value: unknown): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(value)}\n`)) await once(process.stdout, 'drain');
}

export async function printResult(value: unknown): Promise<void> {
  await printLine(value).catch(onOutputFailure);
}

export function printWhole(value: unknown): void {
  process.stdout.write(`${withoutControls(JSON.stringify(value, undefined, 2))}\n`);
}

/** The lines of a table of all items, as wide as the terminal. */
export function tableOf<Item>(items: readonly Item[], columns: readonly Column<Item>[]): readonly string[] {
  return tableLines(items, columns, process.stdout.columns);
}

/** Prints a value: on a terminal as a table for each of its parts, into a pipe as a line of JSON. */
export async function printParts(value: unknown, tables: readonly (readonly string[])[]): Promise<void> {
  if (!process.stdout.isTTY) return printResult(value);
  process.stdout.write(`${tables.map((lines) => lines.join('\n')).join('\n\n')}\n`);
}

export interface PageQuery {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** A page of a list, whose items are in the field `Key`, and the cursor of the next page. */
type Page<Key extends string, Item> = Readonly<Record<Key, readonly Item[]>> & {
  readonly cursor?: string | undefined;
};

interface List<Item> {
  readonly nothing: string;
  readonly columns: readonly Column<Item>[];
}

const pageSize = 1_000;

/**
 * Prints the items of a list, page by page, up to `max`: on a terminal as a table. Without `max`, remarks if more items
 * match than are printed. If none match, remarks `nothing`, because no output at all would look like a failure.
 */
export async function printPages<Key extends string, Item>(
  read: (query: PageQuery) => Promise<Page<Key, Item>>,
  key: Key,
  max: number | undefined,
  { nothing, columns }: List<Item>,
): Promise<void> {
  allowLeaving();
  const print = process.stdout.isTTY ? tablePrinter(columns) : printLines;
  let left = max ?? usual;
  let printed = 0;
  let cursor: string | undefined;
  do {
    const page = await read({ cursor, limit: Math.min(left, pageSize) });
    const items = page[key];
    await print(items);
    left -= items.length;
    printed += items.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
  if (printed === 0) remark(nothing);
  // A full page has a cursor even if no page follows, so this asks for one more item.
  else if (max === undefined && cursor !== undefined && (await read({ cursor, limit: 1 }))[key].length > 0)
    remark('more match: --limit all');
}

export async function printAll<Item>(items: readonly Item[], list: List<Item>): Promise<void> {
  await printPages(async () => ({ items }), 'items', Infinity, list);
}

async function printLines(items: readonly unknown[]): Promise<void> {
  for (const item of items) await printLine(item);
}

/** Prints each page as a table, and the headings only once. */
function tablePrinter<Item>(columns: readonly Column<Item>[]): (items: readonly Item[]) => Promise<void> {
  let isFirst = true;
  return async (items) => {
    const lines = tableOf(items, columns);
    for (const line of items.length === 0 ? [] : lines.slice(isFirst ? 0 : 1))
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
    isFirst = false;
  };
}

/** Ends the process with success when a reader such as `head` leaves early. */
function allowLeaving(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
  });
}
