import type Database from 'better-sqlite3';
import { recordTimeout } from '../../timeouts.ts';
import { isDiskFailure, isLocked, setPragma } from '../connection/connection.ts';
import type { Statements } from '../connection/statements.ts';
import type { Operation, WriteFailure, Writes, WrittenMessage } from './write-message.ts';

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
 * Makes writes in one transaction, so that they share the sync to disk, which is what a durable write costs. Returns
 * undefined, with nothing done, if another process has locked the database.
 */
export type WriteGroup = (writes: Writes) => GroupWritten | undefined;

/**
 * Prepares the writing of groups. Events are written together, because they share reads from the inbox, and first: an
 * event that its write claims may come before one of its call that `claimEvents` finds.
 */
export function prepareWriteGroup(database: Database.Database, statements: Statements): WriteGroup {
  // IMMEDIATE, because a transaction that begins with a read may be refused at its first write.
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const totalChanges = database.prepare('select total_changes()').pluck();

  const run = ({ part, method, args }: Operation): unknown =>
    (statements[part][method as never] as Method)(...args);

  const inTransaction = ({ events, ends, operations }: Writes): GroupWritten => {
    const { processes } = statements;
    const { id } = processes;
    let isCommitted = false;
    begin.run();
    try {
      const changesBefore = totalChanges.get();
      const recorded = statements.record(events);
      const ended = statements.settling.endClaims(ends);
      const results = [...recorded, ...ended, ...operations.map(run)];
      const isChanged = totalChanges.get() !== changesBefore;
      commit.run();
      isCommitted = true;
      return { results, failures: [], isChanged, diskFailure: undefined };
    } finally {
      // SQLite gives the number of an inserted row that is rolled back again: it may become another process's id.
      if (!isCommitted) processes.id = id;
      // A failed statement may have ended the transaction; a failed commit has not.
      if (database.inTransaction) database.exec('rollback');
    }
  };

  /**
   * Makes the writes of a failed group, of which nothing is stored, in ever smaller groups, down to the one that fails.
   * Made singly, a thousand writes would take a thousand syncs, and deliveries would wait for all of them.
   */
  const inParts = (all: readonly Writes[]): GroupWritten => {
    const results: unknown[] = Array.from({ length: all.length });
    const failures: IndexedFailure[] = [];
    let isChanged = false;
    let diskFailure: WriteFailure | undefined;
    /** Makes the writes from `first` to before `end`. Returns whether to go on. */
    const make = (first: number, end: number): boolean => {
      try {
        const done = inTransaction(together(all.slice(first, end)));
        for (const [offset, result] of done.results.entries()) results[first + offset] = result;
        isChanged ||= done.isChanged;
        return true;
      } catch (error) {
        diskFailure = diskFailureOf(error);
        // If it is the disk that fails, or another process that has the lock, the rest would fail, too.
        const isLast = diskFailure !== undefined || isLocked(error);
        if (!isLast && end - first > 1) return makeHalves(first, end);
        failures.push(...failuresOf(error, first, isLast ? all.length : end));
        return !isLast;
      }
    };
    const makeHalves = (first: number, end: number): boolean => {
      const middle = Math.ceil((first + end) / 2);
      return make(first, middle) && make(middle, end);
    };
    // Another process may take the lock between two of these transactions.
    setPragma(database, `busy_timeout = ${recordTimeout}`);
    makeHalves(0, all.length);
    setPragma(database, 'busy_timeout = 0');
    return { results, failures, isChanged, diskFailure };
  };

  return (writes) => {
    const [first] = writes.operations;
    try {
      // It comes alone, and can't run inside a transaction.
      if (first?.part !== 'scrubbing') return inTransaction(writes);
      return { results: [run(first)], failures: [], isChanged: true, diskFailure: undefined };
    } catch (error) {
      if (isLocked(error)) return undefined;
      const all = singly(writes);
      return all.length === 1 || isDiskFailure(error) ? failedGroup(writes, error) : inParts(all);
    }
  };
}

/** Each of the writes by itself. */
function singly({ events, ends, operations }: Writes): readonly Writes[] {
  const none: Writes = { events: [], ends: [], operations: [] };
  return [
    ...events.map((event) => ({ ...none, events: [event] })),
    ...ends.map((end) => ({ ...none, ends: [end] })),
    ...operations.map((operation) => ({ ...none, operations: [operation] })),
  ];
}

/** Writes that were divided, in one group again. */
function together(parts: readonly Writes[]): Writes {
  return {
    events: parts.flatMap(({ events }) => events),
    ends: parts.flatMap(({ ends }) => ends),
    operations: parts.flatMap(({ operations }) => operations),
  };
}

/** The outcomes of writes that all failed with one error. */
export function failedGroup({ events, ends, operations }: Writes, error: unknown): GroupWritten {
  const count = events.length + ends.length + operations.length;
  return {
    results: Array.from({ length: count }),
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
