import type Database from 'better-sqlite3';
import { asText } from '../connection/parameters.ts';

/** SQL that makes blocked runs due. One that waits for a retry keeps its due time. */
const dueUpdate = "update runs set state = 'due', due_at = coalesce(due_at, 0)";

/** Unblocks the next run of a call and handler when the run that it waited for is settled. */
export function prepareUnblockNext(database: Database.Database) {
  const next = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler from runs indexed by runs_blocked
        where call_id = ${asText('?')} and handler = ${asText('?')} and state = 'blocked' order by sequence limit 1)`);
  return (callId: string | null, handler: string): void => void next.run(callId, handler);
}

/** How many runs one step unblocks at most: deliveries wait meanwhile. */
const maxInAStep = 500;

/**
 * Unblocks the runs of a handler whose order is no longer `strict`: a settled run unblocks only the next one of its
 * call, but all of them may go. `some` runs inside the caller's transaction, and returns how many runs it unblocked.
 */
export function prepareUnblock(database: Database.Database) {
  const ofHandler = `from runs indexed by runs_blocked where handler = ${asText('?')} and state = 'blocked'`;
  const some = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (select sequence, handler ${ofHandler} limit ${maxInAStep})`);
  const any = database.prepare(`select 1 ${ofHandler} limit 1`);

  return {
    /** Whether the handler has blocked runs; most have none, and need no write. */
    hasAny: (handler: string): boolean => any.get(handler) !== undefined,
    some: (handler: string): number => some.run(handler).changes,
  };
}
