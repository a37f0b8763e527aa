import type { Command } from 'commander';
import { once } from 'node:events';
import { argument } from '../arguments.ts';
import { onOutputFailure, remark } from '../stderr.ts';

/** How many items are printed by default: an inbox may have millions. */
const usual = 100;

/** Adds the option for how many items to print. */
export function takesLimit(command: Command): Command {
  const read = argument("a whole number above 0, or 'all'", readLimit);
  return command.option('--limit <number>', `how many to print at most, or all (default: ${usual})`, read);
}

function readLimit(value: unknown): number | undefined {
  if (value === 'all') return Infinity;
  return typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
}

/** Prints a value as a line of JSON. Resolves when the reader has kept up, so that memory is bounded. */
export async function printLine(value: unknown): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(value)}\n`)) await once(process.stdout, 'drain');
}

/** Prints the result of a command. */
export async function printResult(value: unknown): Promise<void> {
  await printLine(value).catch(onOutputFailure);
}

/** Prints a value as JSON on several lines, for a person to read. */
export function printWhole(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** One page of a list, and where the next page begins. */
interface Page {
  readonly items: readonly unknown[];
  readonly cursor: string | undefined;
}

const pageSize = 1_000;

/**
 * Prints the items of a list, page by page, up to `max`. If `max` is not given and more items match than are printed,
 * it says so. If none match, it says `nothing`, because no output at all would look like a command that failed.
 */
export async function printPages(
  pageAfter: (cursor: string | undefined, limit: number) => Promise<Page>,
  max: number | undefined,
  nothing: string,
): Promise<void> {
  allowLeaving();
  let left = max ?? usual;
  let printed = 0;
  let cursor: string | undefined;
  do {
    const page = await pageAfter(cursor, Math.min(left, pageSize));
    for (const item of page.items) await printLine(item);
    left -= page.items.length;
    printed += page.items.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
  if (printed === 0) remark(nothing);
  // A full page has a cursor even if no page follows, so this looks for another item.
  else if (max === undefined && cursor !== undefined && (await pageAfter(cursor, 1)).items.length > 0)
    remark('more match: --limit all');
}

/** Lets a reader such as `head` leave early: then the rest need not be written, and the process ends with success. */
function allowLeaving(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
  });
}
