/** Moving an inbox from one store to another. */
import { ringbackError } from '../../errors/errors.ts';
import type { Store } from '../store.ts';
import type { Contents } from './contents.ts';
import { type KeptRow, type KeptTable, keptTableNames } from './kept-tables.ts';

/** The key of the row after which a page begins. */
export type After = readonly (string | number)[];

/** Some rows of a table in the order of its keys, and where the next page begins, if there may be one. */
export interface Page {
  readonly rows: readonly KeptRow[];
  readonly next: After | undefined;
}

/** The last numbers that an inbox has given out; none is ever given again. */
export interface LastNumbers {
  readonly events: number;
  readonly quarantine: number;
  readonly audit: number;
}

/** The progress of a move, written with each page, in the same transaction. */
export interface Progress {
  readonly from: string;
  /** The contents of the source when the move began. */
  readonly contents: Contents;
  readonly numbers: LastNumbers;
  /** The table to continue with; undefined when all rows are there. */
  readonly table: KeptTable | undefined;
  readonly after: After | undefined;
}

/** An inbox to move from. Nobody else writes to it until it is released. */
export interface MoveSource {
  readonly name: string;
  contents(): Promise<Contents>;
  numbers(): Promise<LastNumbers>;
  page(table: KeptTable, after: After | undefined): Promise<Page>;
}

/** An inbox to move to. It refuses to write if somebody else has changed its state in between: see `requireUnchanged`. */
export interface MoveTarget {
  readonly name: string;
  contents(): Promise<Contents>;
  /** The progress of a move that was not finished. */
  progress(): Promise<Progress | undefined>;
  /**
   * Writes the rows that are not there yet, and the progress, in one transaction.
   *
   * @throws RingbackError `inbox_in_use`
   */
  write(table: KeptTable, rows: readonly KeptRow[], progress: Progress): Promise<void>;
  /**
   * Continues numbering after the source's last numbers, and removes the progress, in one transaction.
   *
   * @throws RingbackError `inbox_in_use`
   */
  finish(numbers: LastNumbers): Promise<void>;
}

/** An inbox that can be moved from or to. */
export interface Movable {
  readonly name: string;
  /**
   * Passes the inbox to `work`, and keeps every receiver from writing to it meanwhile.
   *
   * @throws RingbackError `inbox_in_use` if a process works on it
   */
  asSource<T>(work: (source: MoveSource) => Promise<T>): Promise<T>;
  /**
   * Passes the inbox to `work`; creates it if it doesn't exist.
   *
   * @throws RingbackError `inbox_in_use` if a process works on it
   */
  asTarget<T>(work: (target: MoveTarget) => Promise<T>): Promise<T>;
}

/**
 * Copies what the source keeps, and leaves the source as it is. Resumes a move that was cut short. Resolves to what was
 * moved, as counted on both sides.
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

/** The setting in which a target keeps the progress. An inbox without it is whole. */
export const progressSetting = 'move';

/**
 * Refuses an inbox that has only a part of another. A receiver on it would handle events again whose identities are
 * missing.
 *
 * @param progress The value of the setting, if there is one
 * @throws RingbackError `move_unfinished`
 */
export function requireWhole(database: string, progress: string | undefined): void {
  if (progress === undefined) return;
  const { from } = JSON.parse(progress) as Progress;
  throw ringbackError('move_unfinished', { database, from });
}

/** The state of a target: its stored progress, or else its last numbers, which are 0 until something is recorded. */
export function stateOf(progress: string | undefined, numbers: LastNumbers): string {
  return progress ?? JSON.stringify(numbers);
}

/**
 * Refuses to continue if somebody else has changed the target. A process that was suspended may have lost its locks:
 * another move may have finished meanwhile, and receivers may have handled events that this move would write as waiting
 * again.
 *
 * @param expected The state that this move has seen or written last
 * @throws RingbackError `inbox_in_use`
 */
export function requireUnchanged(database: string, expected: string | undefined, found: string): void {
  if (found !== expected) throw ringbackError('inbox_in_use', { database });
}

/** Gives back the claims of dead processes, as a receiver does. */
export async function takeOverIn(store: Pick<Store, 'open' | 'keepAlive' | 'close'>): Promise<void> {
  try {
    await store.open();
    await store.keepAlive();
  } finally {
    await store.close();
  }
}

/**
 * Refuses a target that is not empty: the two inboxes would be mixed.
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

/** Finishes the move if both sides hold the same. Otherwise there is a bug, or somebody has written to the target. */
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
