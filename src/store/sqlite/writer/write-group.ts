import type Database from 'better-sqlite3';
import { recordTimeout } from '../../timeouts.ts';
import { isDiskFailure, isLocked } from '../connection/connection.ts';
import { setPragma } from '../connection/pragma.ts';
import type { Statements } from '../connection/statements.ts';
import type { EventRow } from '../work/record.ts';
import {
  type OperationItem,
  type WriteFailure,
  type WriteItem,
  type WrittenMessage,
  bytesOf,
  isEndOfClaim,
  isEvent,
  isOperation,
  isOutside,
} from './write-message.ts';

/**
 * The bounds of a commit, so that later writes don't wait too long, and the app's thread doesn't give too many answers
 * in one turn of its event loop. On a disk with slow syncs, they limit how many events are recorded a second; each is
 * two writes.
 */
export const groupWrites = 1_024;
export const groupBytes = 4 * 1024 * 1024;

/** The outcomes of a group's writes. */
export interface GroupWritten extends Pick<WrittenMessage, 'results' | 'failures'> {
  /** Whether anything was changed, and so synced. */
  readonly isChanged: boolean;
  /** Set if the disk has failed or is full: earlier commits may be missing on it. */
  readonly diskFailure: WriteFailure | undefined;
}

type IndexedFailure = WrittenMessage['failures'][number];
type Method = (...args: readonly unknown[]) => unknown;

/**
 * Writes items in one transaction, so that they share the sync to disk, which is what a durable write costs. Returns
 * undefined, with nothing done, if another process has locked the database.
 */
export type WriteGroup = (items: readonly WriteItem[]) => GroupWritten | undefined;

/**
 * Prepares the writing of groups. Events are written first and together, because they share reads from the inbox; then
 * claims are ended, and then the other operations run in their order.
 */
export function prepareWriteGroup(database: Database.Database, statements: Statements): WriteGroup {
  // IMMEDIATE, because a transaction that begins with a read may be refused at its first write.
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const totalChanges = database.prepare('select total_changes()').pluck();

  const run = ({ part, method, args }: OperationItem): unknown =>
    (statements[part][method as never] as Method)(...args);

  const write = (items: readonly WriteItem[]): unknown[] => {
    const recorded = statements.record(eventsIn(items))[Symbol.iterator]();
    const ended = statements.settling.endClaims(items.filter(isEndOfClaim))[Symbol.iterator]();
    return items.map((item) => {
      if (isEvent(item)) return recorded.next().value;
      if (isEndOfClaim(item)) return ended.next().value === true;
      return run(item);
    });
  };

  const inTransaction = (items: readonly WriteItem[]): GroupWritten => {
    begin.run();
    try {
      const changesBefore = totalChanges.get();
      const results = write(items);
      const isChanged = totalChanges.get() !== changesBefore;
      commit.run();
      return { results, failures: [], isChanged, diskFailure: undefined };
    } finally {
      // A failed statement may have ended the transaction; a failed commit has not.
      if (database.inTransaction) database.exec('rollback');
    }
  };

  /** Writes each item of a failed group by itself, to find out which one fails: nothing of the group is stored. */
  const oneByOne = (items: readonly WriteItem[]): GroupWritten => {
    // Another process may take the lock between two of these transactions.
    setPragma(database, `busy_timeout = ${recordTimeout}`);
    const results: unknown[] = Array.from({ length: items.length });
    const failures: IndexedFailure[] = [];
    let isChanged = false;
    let diskFailure: WriteFailure | undefined;
    for (const [index, item] of items.entries()) {
      try {
        const done = inTransaction([item]);
        results[index] = done.results[0];
        isChanged ||= done.isChanged;
      } catch (error) {
        diskFailure = diskFailureOf(error);
        // If one fails at the disk, or because another process has the lock, so would the rest.
        const isLast = diskFailure !== undefined || isLocked(error);
        failures.push(...failuresOf(error, index, isLast ? items.length : index + 1));
        if (isLast) break;
      }
    }
    setPragma(database, 'busy_timeout = 0');
    return { results, failures, isChanged, diskFailure };
  };

  const outside = (operation: OperationItem): GroupWritten => {
    try {
      return { results: [run(operation)], failures: [], isChanged: true, diskFailure: undefined };
    } catch (error) {
      return failedGroup(1, error);
    }
  };

  return (items) => {
    const [first] = items;
    if (first !== undefined && isOperation(first) && isOutside(first)) return outside(first);
    try {
      return inTransaction(items);
    } catch (error) {
      if (isLocked(error)) return undefined;
      return items.length === 1 || diskFailureOf(error) ? failedGroup(items.length, error) : oneByOne(items);
    }
  };
}

/** How many of the waiting writes go into the next commit. */
export function groupSizeOf(waiting: readonly WriteItem[]): number {
  let bytes = 0;
  let count = 0;
  for (const item of waiting) {
    bytes += bytesOf(item);
    const isAlone = isOutside(item) || (isOperation(item) && item.isAlone);
    if (count === groupWrites || (count > 0 && (isAlone || bytes > groupBytes))) break;
    count += 1;
    if (isAlone) break;
  }
  return count;
}

/** The outcomes of writes that all failed with one error. */
export function failedGroup(count: number, error: unknown): GroupWritten {
  const results = Array.from({ length: count });
  return {
    results,
    failures: failuresOf(error, 0, count),
    isChanged: false,
    diskFailure: diskFailureOf(error),
  };
}

/** The failures of the writes from `first` to before `end`. */
function failuresOf(error: unknown, first: number, end: number): IndexedFailure[] {
  const failure = failureOf(error);
  return Array.from({ length: end - first }, (_, offset) => [first + offset, failure]);
}

/** The failure, if it is the disk's: see `WriterThread.#failClosed`. */
function diskFailureOf(error: unknown): WriteFailure | undefined {
  return isDiskFailure(error) ? failureOf(error) : undefined;
}

/** The failure in a form that can be sent to another thread. */
export function failureOf(error: unknown): WriteFailure {
  const { message, code } = error as { readonly message?: unknown; readonly code?: unknown };
  return { message: String(message ?? error), code: typeof code === 'string' ? code : undefined };
}

/**
 * The events of a group. Those after a `claimEvents` are left to it. Otherwise the first of them could be claimed as it
 * is written, while the result of `claimEvents`, which the caller gets before, could have a later event of its call.
 */
function eventsIn(items: readonly WriteItem[]): readonly EventRow[] {
  const claim = items.findIndex(
    (item) => isOperation(item) && item.part === 'claims' && item.method === 'events',
  );
  if (claim < 0) return items.filter(isEvent);
  const later = items.slice(claim).filter(isEvent);
  return [
    ...items.slice(0, claim).filter(isEvent),
    ...later.map((row): EventRow => ({ ...row, mayClaim: false })),
  ];
}
