import type Database from 'better-sqlite3';
import type { OpenRun } from '../../shared/found-work.ts';
import { asInteger, asText } from '../connection/parameters.ts';

/**
 * SQL to find open runs: those to be run, or running. A partial index holds only these, and SQLite uses it only if a
 * statement has the index's condition word for word; `state = 'due'` is not enough.
 */

export const isOpen = "state in ('due', 'claimed', 'blocked')";

/**
 * SQL: the sequence of each open run. Each state has an index that answers this alone. With the index of all open runs,
 * which lacks the state, each of a hundred thousand runs would have to be looked up.
 */
export const openSequences = `select sequence from runs indexed by runs_due where state = 'due'
  union all select sequence from runs indexed by runs_claimed where claimed_by is not null
  union all select sequence from runs indexed by runs_blocked where state = 'blocked'`;

/** SQL: the run is due, now or later, and no attempt has begun. */
export const isUnbegun = "state = 'due' and attempts = 0";

/**
 * SQL, after the table's name: use the index of open runs by call, handler and sequence. SQLite doesn't know the
 * numbers of rows, and might go through every due run of a handler, or every run, to find those of one call. A
 * statement that can't use the index can't be prepared.
 */
export const byCall = 'indexed by runs_open_by_call';

/** The same for the index of unbegun runs, by call and handler. */
const byCallUnbegun = 'indexed by runs_unbegun_by_call';

/** Finds the open runs before an event: for each handler only the one that decides, however many there are. */
type OpenRunsBefore = (callId: string, sequence: number) => OpenRun[];

/**
 * Answers each question by one index seek. A call under a placeholder id may have a hundred thousand open runs, and
 * reading all of them for each of its events would block the app's event loop for seconds.
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
    // Runs in flight, of any process, are few.
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

/** The state of an event `e`. It follows from the rows of other tables, so that no column has to be kept up to date. */

/** SQL: the event waits to be claimed, or is claimed. */
export const isNewEvent = `(exists (select 1 from waiting w where w.sequence = e.sequence)
  or exists (select 1 from claims c where c.sequence = e.sequence))`;

const hasOpenRuns = `exists (select 1 from runs r where r.sequence = e.sequence and r.${isOpen})`;

export const eventState = `case when ${isNewEvent} then 'new' when ${hasOpenRuns} then 'open' else 'done' end`;
