import type Database from 'better-sqlite3';
import { byCall, isOpen } from './open-runs.ts';
import { asText } from '../connection/parameters.ts';

/** SQL that makes blocked runs due. One whose attempt has failed may have a time before which it must not begin. */
const dueUpdate = "update runs set state = 'due', due_at = coalesce(due_at, 0)";

/** Unblocks the next run of a call and handler when the run that it waited for is over. */
export function prepareUnblockNext(database: Database.Database) {
  const next = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler from runs indexed by runs_blocked
        where call_id = ${asText('?')} and handler = ${asText('?')} and state = 'blocked' order by sequence limit 1)`);
  return (callId: string | undefined, handler: string): void => void next.run(callId ?? null, handler);
}

/** How many runs one step unblocks at the most: deliveries wait meanwhile. */
const maxInAStep = 500;

/**
 * Unblocks runs that no settlement would ever unblock. A run that is settled unblocks the next one of its call; but a
 * run may have been blocked when its handler had the order `strict`, and processes in which the handler now has
 * another order block no runs. `all` and `first` run inside a transaction of the caller's, and return how many runs
 * they have unblocked.
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
    /** Whether the handler has blocked runs: usually it has none, and there is nothing to write. */
    hasAny: (handler: string): boolean => any.get(handler) !== undefined,
    /** Unblocks the runs of a handler that is not strict. */
    all: (handler: string): number => all.run(handler).changes,
    /** Unblocks the first run of each call that has no other run open but blocked ones, which wait for it. */
    first: (handler: string): number => first.run(handler).changes,
  };
}
