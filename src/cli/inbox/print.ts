import type { Command } from 'commander';
import { once } from 'node:events';
import { argument } from '../argument.ts';

/** Adds the option that says how many are printed. */
export function takesLimit(command: Command): Command {
  const read = argument('a whole number above 0', readLimit);
  return command.option('--limit <number>', 'so many at the most (default: all)', read);
}

function readLimit(value: unknown): number | undefined {
  return typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
}

/** Prints one thing as a line of JSON; resolves when the reader has kept up, so that memory is bounded. */
export async function printLine(value: unknown): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(value)}\n`)) await once(process.stdout, 'drain');
}

/** Says something to the person, beside the result, which is for programs. */
export function remark(sentence: string): void {
  process.stderr.write(`ringback: ${sentence}\n`);
}

/** One page of a list, and where the next begins. */
interface Page {
  readonly items: readonly unknown[];
  readonly cursor: string | undefined;
}

const pageSize = 1_000;

/** Goes through the pages of a list, and prints what is on them, up to so many. */
export async function printPages(
  pageAfter: (cursor: string | undefined, limit: number) => Promise<Page>,
  most = Infinity,
): Promise<void> {
  allowLeaving();
  let left = most;
  let cursor: string | undefined;
  do {
    const page = await pageAfter(cursor, Math.min(left, pageSize));
    for (const item of page.items) await printLine(item);
    left -= page.items.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
}

/** Lets a reader leave early, as `head` does: what it does not read need not be written. */
function allowLeaving(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}
