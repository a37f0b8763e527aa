import type Database from 'better-sqlite3';
import { byCall, isOpen } from './open-runs.ts';
import { asText } from '../connection/parameters.ts';

/** SQL that makes blocked runs due. One that waits for a retry keeps its due time. */
const dueUpdate = "update runs set state = 'due', due_at = coalesce(due_at, 0)";

/** Unblocks the next run of a call and handler when the run that it waited for is settled. */
export function prepareUnblockNext(database: Database.Database) {
  const next = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler from runs indexed by runs_blocked
        where call_id = ${asText('?')} and handler = ${asText('?')} and state = 'blocked' order by sequence limit 1)`);
  return (callId: string | undefined, handler: string): void => void next.run(callId ?? null, handler);
}

/** How many runs one step unblocks at most: deliveries wait meanwhile. */
const maxInAStep = 500;

/**
 * Unblocks runs that no settlement would unblock. A settled run unblocks only the next one of its call, but all of them
 * may go if their handler had the order `strict` before and has another now. `all` and `first` run inside the caller's
 * transaction, and return how many runs they unblocked.
 */
export function prepareUnblock(database: Database.Database) {
  const ofHandler = `from runs indexed by runs_blocked where handler = ${asText('?')} and state = 'blocked'`;
  const all = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (select sequence, handler ${ofHandler} limit ${maxInAStep})`);
  const first = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler ${ofHandler} and not exists (
        select 1 from runs o ${byCall} where o.call_id = runs.call_id and o.handler = runs.handler and o.${isOpen}
          and (o.sequence < runs.sequence or o.state <> 'blocked'))
      limit ${maxInAStep})`);

  const any = database.prepare(`select 1 ${ofHandler} limit 1`);

  return {
    /** Whether the handler has blocked runs; most have none, and need no write. */
    hasAny: (handler: string): boolean => any.get(handler) !== undefined,
    /** Unblocks the runs of a handler that is not strict. */
    all: (handler: string): number => all.run(handler).changes,
    /** Unblocks the first run of each call whose open runs are all blocked. */
    first: (handler: string): number => first.run(handler).changes,
  };
}
