import type Database from 'better-sqlite3';
import type { Sequence } from '../run-key.ts';
import { byCall, byCallAndTime, isOpen, isUnbegun } from './open-runs.ts';
import { asText } from './parameters.ts';

interface BlockedRun {
  readonly sequence: Sequence;
  readonly callId: string;
  readonly dueAt: number | null;
}

/** SQL that lets blocked runs go. One that a replay has put back may have a time before which it must not begin. */
const dueUpdate = "update runs set state = 'due', due_at = coalesce(due_at, 0)";

/** Lets the next run of a call and handler go when the one is over that it waited for. */
export function prepareUnblockNext(database: Database.Database) {
  const next = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler from runs indexed by runs_blocked
        where call_id = ${asText('?')} and handler = ${asText('?')} and state = 'blocked' order by sequence limit 1)`);
  return (callId: string | undefined, handler: string): void => void next.run(callId ?? null, handler);
}

/** So many runs in one step at the most: deliveries wait meanwhile. */
const mostInAStep = 500;

/**
 * Lets blocked runs go that nothing lets go any more. A run that was settled lets the next one of its call go; but a handler
 * may have had order `strict` when it was put there and have another now, in whose processes nobody waits for anything.
 * All run inside a transaction of the caller's; each resolves to how many it has let go.
 */
export function prepareUnblock(database: Database.Database) {
  const ofHandler = `from runs indexed by runs_blocked where handler = ${asText('?')} and state = 'blocked'`;
  const some = database.prepare(`
    select sequence, call_id as callId, due_at as dueAt ${ofHandler} order by call_id, sequence limit ${mostInAStep}`);
  const dueBefore = database
    .prepare(
      `select due_at from runs ${byCallAndTime} where call_id = ${asText('?')} and handler = ${asText('?')}
        and sequence < ? and ${isUnbegun} order by due_at desc limit 1`,
    )
    .pluck();
  const releaseOne = database.prepare(
    "update runs set state = 'due', due_at = ? where sequence = ? and handler = ?",
  );
  const first = database.prepare(`
    ${dueUpdate} where (sequence, handler) in (
      select sequence, handler ${ofHandler} and not exists (
        select 1 from runs o ${byCall} where o.call_id = runs.call_id and o.handler = runs.handler and o.${isOpen}
          and (o.sequence < runs.sequence or o.state <> 'blocked'))
      limit ${mostInAStep})`);

  const any = database.prepare(`select 1 ${ofHandler} limit 1`);

  return {
    /** Whether a handler has any: as a rule there is nothing to write. */
    hasAny: (handler: string): boolean => any.get(handler) !== undefined,
    /** Those of a handler that is not strict; `follows`: none is due sooner than one before it that has not begun. */
    all(handler: string, follows: boolean): number {
      const runs = some.all(handler) as BlockedRun[];
      for (const { sequence, callId, dueAt } of runs) {
        const before = follows ? (dueBefore.get(callId, handler, sequence) as number | undefined) : undefined;
        releaseOne.run(Math.max(dueAt ?? 0, before ?? 0), sequence, handler);
      }
      return runs.length;
    },
    /** The first of each call that has nothing else open: what the rest of the call waits for. */
    first: (handler: string): number => first.run(handler).changes,
  };
}
