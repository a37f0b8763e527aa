/** Moving an inbox from one store to another. */
import { ringbackError } from '../../errors/errors.ts';
import type { Store } from '../store.ts';
import type { Contents } from './contents.ts';
import { type KeptRow, type KeptTable, keptTableNames } from './kept-tables.ts';

/** The values of the keys of a row: where a page ends. */
export type After = readonly (string | number)[];

/** Some rows of a table in the order of its keys, and after which the next page begins, if there may be one. */
export interface Page {
  readonly rows: readonly KeptRow[];
  readonly next: After | undefined;
}

/** The last numbers that an inbox has given: none is ever given again. */
export interface LastNumbers {
  readonly events: number;
  readonly quarantine: number;
  readonly audit: number;
}

/** How far a move has come. It is written with each page, in the same transaction. */
export interface Progress {
  readonly from: string;
  /** What was to be moved when the move began. */
  readonly contents: Contents;
  readonly numbers: LastNumbers;
  /** The table that comes next; undefined when all rows are there. */
  readonly table: KeptTable | undefined;
  readonly after: After | undefined;
}

/** An inbox that nobody else writes to until it is released. */
export interface MoveSource {
  readonly name: string;
  contents(): Promise<Contents>;
  numbers(): Promise<LastNumbers>;
  page(table: KeptTable, after: After | undefined): Promise<Page>;
}

/** An inbox that is filled. What it was last asked for or wrote must still be there when it writes: see `requireUnchanged`. */
export interface MoveTarget {
  readonly name: string;
  contents(): Promise<Contents>;
  /** How far a move has come that was not finished. */
  progress(): Promise<Progress | undefined>;
  /**
   * Writes rows, leaving out those that are there, and how far it has come, in one transaction.
   *
   * @throws RingbackError `inbox_in_use`
   */
  write(table: KeptTable, rows: readonly KeptRow[], progress: Progress): Promise<void>;
  /**
   * Goes on with numbers after those of the source, and forgets the progress, in one transaction.
   *
   * @throws RingbackError `inbox_in_use`
   */
  finish(numbers: LastNumbers): Promise<void>;
}

/** An inbox as a place to move from and to. */
export interface Movable {
  readonly name: string;
  /**
   * Lends the inbox to `work`, and keeps every receiver from writing to it meanwhile.
   *
   * @throws RingbackError `inbox_in_use` if a process works on it
   */
  asSource<T>(work: (source: MoveSource) => Promise<T>): Promise<T>;
  /**
   * Lends the inbox to `work`. Makes it if it isn't there.
   *
   * @throws RingbackError `inbox_in_use` if a process works on it
   */
  asTarget<T>(work: (target: MoveTarget) => Promise<T>): Promise<T>;
}

/**
 * Moves all that the source keeps, and leaves the source as it is. A move that was cut short goes on where it was. Resolves to
 * what was moved, which was counted on both sides.
 *
 * @throws RingbackError `inbox_in_use`, `move_refused`, `move_incomplete`
 */
export function move(from: Movable, to: Movable): Promise<Contents> {
  return from.asSource((source) =>
    to.asTarget(async (target) => {
      const progress = await beginOrResume(source, target);
      await copy(source, target, progress);
      return compare(source, target, progress);
    }),
  );
}

/** The name of the setting in which a target has the progress. Without it, an inbox is whole. */
export const progressSetting = 'move';

/**
 * Refuses an inbox that is a part of one. A receiver on it would take for new what is already handled where the rest is.
 *
 * @param progress The value of the setting, if there is one
 * @throws RingbackError `move_unfinished`
 */
export function requireWhole(database: string, progress: string | undefined): void {
  if (progress === undefined) return;
  const { from } = JSON.parse(progress) as Progress;
  throw ringbackError('move_unfinished', { database, from });
}

/** How far a target is: the progress as it is stored, or without it the last numbers, which stay 0 until something comes. */
export function stateOf(progress: string | undefined, numbers: LastNumbers): string {
  return progress ?? JSON.stringify(numbers);
}

/**
 * Refuses to go on where another has. A process that was suspended may have kept neither the source nor the target: another move
 * may have ended, and receivers have handled what this one would write as waiting once more.
 *
 * @param expected The state that this move has seen or written last
 * @throws RingbackError `inbox_in_use`
 */
export function requireUnchanged(database: string, expected: string | undefined, found: string): void {
  if (found !== expected) throw ringbackError('inbox_in_use', { database });
}

/** Gives back what processes had claimed that have died, as a receiver does. */
export async function takeOverIn(store: Pick<Store, 'open' | 'keepAlive' | 'close'>): Promise<void> {
  try {
    await store.open();
    await store.keepAlive();
  } finally {
    await store.close();
  }
}

/**
 * Refuses a target in which something was counted: the two inboxes would be mixed.
 *
 * @throws RingbackError `move_refused`
 */
export function requireEmpty(from: string, to: string, counts: readonly number[]): void {
  if (counts.every((count) => count === 0)) return;
  const found = 'holds an inbox already, which this one would be mixed with';
  throw ringbackError('move_refused', { from, to, found });
}

async function beginOrResume(source: MoveSource, target: MoveTarget): Promise<Progress> {
  const [contents, numbers] = [await source.contents(), await source.numbers()];
  const refuse = (found: string) =>
    ringbackError('move_refused', { from: source.name, to: target.name, found });
  const unfinished = await target.progress();
  if (unfinished === undefined) {
    requireEmpty(source.name, target.name, Object.values(await target.contents()));
    return { from: source.name, contents, numbers, table: keptTableNames[0], after: undefined };
  }
  if (unfinished.from !== source.name)
    throw refuse(`holds a part of ${unfinished.from}, from which a move was not finished`);
  if (!isSame(unfinished.contents, contents))
    throw refuse(
      'holds a part of the inbox as it was when the move began, and a receiver has worked on it since',
    );
  return unfinished;
}

async function copy(source: MoveSource, target: MoveTarget, begun: Progress): Promise<void> {
  const { from, contents, numbers } = begun;
  let { table, after } = begun;
  while (table !== undefined) {
    const { rows, next }: Page = await source.page(table, after);
    const nextTable: KeptTable | undefined = next ? table : keptTableNames[keptTableNames.indexOf(table) + 1];
    await target.write(table, rows, { from, contents, numbers, table: nextTable, after: next });
    [table, after] = [nextTable, next];
  }
}

/** Only then is the move finished: what differs is an error of ours, or somebody has worked on the target meanwhile. */
async function compare(source: MoveSource, target: MoveTarget, { numbers }: Progress): Promise<Contents> {
  const [moved, found] = [await source.contents(), await target.contents()];
  if (!isSame(moved, found)) {
    const differing = Object.keys(moved).filter((kind) => moved[kind] !== found[kind]);
    const differences = differing.map((kind) => `${kind} ${moved[kind]} and ${found[kind]}`).join(', ');
    throw ringbackError('move_incomplete', { from: source.name, to: target.name, differences });
  }
  await target.finish(numbers);
  return moved;
}

function isSame(one: Contents, other: Contents): boolean {
  const kinds = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...kinds].every((kind) => one[kind] === other[kind]);
}
