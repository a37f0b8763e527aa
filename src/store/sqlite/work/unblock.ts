import type Database from 'better-sqlite3';
import type { Sequence } from '../../sequence.ts';
import { byCall, isOpen } from './open-runs.ts';
import { prepareLastDueBefore } from './open-runs-before.ts';
import { asText } from '../connection/parameters.ts';

interface BlockedRun {
  readonly sequence: Sequence;
  readonly callId: string;
  readonly dueAt: number | null;
}

/** SQL that makes blocked runs due. A run that a replay has requeued may have a time before which it must not begin. */
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
  const some = database.prepare(`
    select sequence, call_id as callId, due_at as dueAt ${ofHandler} order by call_id, sequence limit ${maxInAStep}`);
  const lastDueBefore = prepareLastDueBefore(database);
  const releaseOne = database.prepare(
    "update runs set state = 'due', due_at = ? where sequence = ? and handler = ?",
  );
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
    /**
     * Unblocks the runs of a handler that is not strict. With `follows`, none is due sooner than an earlier run of
     * its call that has not begun.
     */
    all(handler: string, follows: boolean): number {
      const runs = some.all(handler) as BlockedRun[];
      for (const { sequence, callId, dueAt } of runs) {
        const before = follows ? lastDueBefore(callId, handler, sequence) : undefined;
        releaseOne.run(Math.max(dueAt ?? 0, before ?? 0), sequence, handler);
      }
      return runs.length;
    },
    /** Unblocks the first run of each call that has no other run open but blocked ones, which wait for it. */
    first: (handler: string): number => first.run(handler).changes,
  };
}
