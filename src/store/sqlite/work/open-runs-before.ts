import type Database from 'better-sqlite3';
import type { OpenRun } from '../../claims.ts';
import { byCall, byCallAndTime, isOpen, isUnbegun } from './open-runs.ts';
import { asInteger, asText } from '../connection/parameters.ts';

interface FoundRun {
  readonly attempts: number;
  readonly dueAt: number | null;
}

/** Finds the runs that an event follows: for each handler the one that decides, however many of the call are open. */
export type OpenRunsBefore = (callId: string, sequence: number) => OpenRun[];

/**
 * Each question is answered by one seek in an index. A call under a placeholder's id may have a hundred thousand open
 * runs, and reading all of them for each of its events would stop the app's event loop for seconds.
 */
export function prepareOpenRunsBefore(database: Database.Database): OpenRunsBefore {
  const ofCall = `call_id = ${asText('@callId')}`;
  const next = (condition: string) =>
    `select min(handler) from runs ${byCall} where ${ofCall} and ${isOpen} ${condition}`;
  const handlersOf = database
    .prepare(
      `with recursive handlers (handler) as (
         ${next('')} union all
         select (${next('and handler > handlers.handler')}) from handlers where handler is not null)
       select handler from handlers where handler is not null`,
    )
    .pluck();
  const before = `${ofCall} and handler = ${asText('@handler')} and sequence < ${asInteger('@sequence')}`;
  const lastUnbegun = database.prepare(`
    select attempts, due_at as dueAt from runs ${byCallAndTime}
    where ${before} and ${isUnbegun} order by due_at desc limit 1`);
  // Runs in hand, in this process or another: there are few.
  const claimedUnbegun = database.prepare(`
    select attempts, 0 as dueAt from runs indexed by runs_claimed
    where ${before} and claimed_by is not null and attempts = 0 limit 1`);
  const earliest = database.prepare(`
    select attempts, due_at as dueAt from runs ${byCall} where ${before} and ${isOpen} order by sequence limit 1`);
  const deciding = [lastUnbegun, claimedUnbegun, earliest];

  const decidingOf = (key: { handler: string; callId: string; sequence: number }): FoundRun | undefined => {
    for (const statement of deciding) {
      const found = statement.get(key) as FoundRun | undefined;
      if (found) return found;
    }
    return undefined;
  };

  return (callId, sequence) =>
    (handlersOf.all({ callId }) as string[]).flatMap((handler) => {
      const found = decidingOf({ handler, callId, sequence });
      if (!found) return [];
      const { attempts, dueAt } = found;
      return [{ handler, attempts, dueAt: dueAt ?? 0 }];
    });
}
