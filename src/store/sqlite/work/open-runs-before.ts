import type Database from 'better-sqlite3';
import type { OpenRun } from '../../shared/call-order.ts';
import { byCall, byCallUnbegun, isOpen, isUnbegun } from './open-runs.ts';
import { asInteger, asText } from '../connection/parameters.ts';

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
  const unbegun = [
    `${byCallUnbegun} where ${before} and ${isUnbegun}`,
    // Runs in flight, in this process or another: there are few.
    `indexed by runs_claimed where ${before} and claimed_by is not null and attempts = 0`,
  ].map((runs) => database.prepare(`select 1 from runs ${runs} limit 1`));
  const earlier = database.prepare(`select 1 from runs ${byCall} where ${before} and ${isOpen} limit 1`);

  return (callId, sequence) =>
    (handlersOf.all({ callId }) as string[]).flatMap((handler): OpenRun[] => {
      const key = { handler, callId, sequence };
      if (unbegun.some((statement) => statement.get(key) !== undefined))
        return [{ handler, hasBegun: false }];
      return earlier.get(key) === undefined ? [] : [{ handler, hasBegun: true }];
    });
}
