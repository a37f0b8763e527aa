import type Database from 'better-sqlite3';
import type { StoreCounts } from '../../store.ts';
import { maxCounted } from '../../shared/bounds.ts';
import { openSequences } from '../work/open-runs.ts';

/**
 * The handlers with due runs. Goes from name to name along the index of due runs, so that a hundred thousand of them
 * don't make a start slow. Blocked runs need no search: the run that they wait for is due or claimed.
 */
export const dueHandlers = `
  with recursive handlers (handler) as (
    select min(handler) from runs where state = 'due' union all
    select (select min(handler) from runs where state = 'due' and handler > handlers.handler) from handlers where handler is not null)
  select handler from handlers where handler is not null`;

/** Counts of what the inbox holds. */
export function prepareOverview(database: Database.Database) {
  const selectDueHandlers = database.prepare(dueHandlers).pluck();
  // Without going through the events, of which there may be ten million.
  const countEvents = database.prepare(`
    select (select events from event_totals) as total,
      (select count(*) from waiting) as waiting, (select count(*) from claims) as claimed,
      (select count(distinct sequence) from (select sequence from (${openSequences}) limit ${maxCounted})
        where sequence not in (select sequence from waiting) and sequence not in (select sequence from claims)) as open`);
  const upTo = (condition: string) =>
    `(select count(*) from (select 1 from runs where ${condition} limit ${maxCounted}))`;
  // Without going through the runs that are done.
  const countRuns = database.prepare(`
    select ${upTo("state = 'due'")} as due, ${upTo('claimed_by is not null')} as running,
      ${upTo("state = 'blocked'")} as blocked, ${upTo("state = 'dead'")} as dead`);
  const countQuarantine = database.prepare('select kind as state, count from quarantine_totals');
  const countDropped = database.prepare('select sum(dropped) from quarantine_totals').pluck();
  const dataVersion = database.prepare('pragma data_version').pluck();

  return {
    waitingHandlers: () => selectDueHandlers.all() as string[],
    /** A number that changes when another connection has written. */
    dataVersion: () => dataVersion.get() as number,
    counts(): StoreCounts {
      const { total, waiting, claimed, open } = countEvents.get() as Record<
        'total' | 'waiting' | 'claimed' | 'open',
        number
      >;
      const quarantine = countsOf(countQuarantine);
      return {
        events: { new: waiting + claimed, open, done: total - waiting - claimed - open },
        claims: { events: claimed },
        runs: countRuns.get() as StoreCounts['runs'],
        quarantine: {
          notAuthentic: quarantine('not_authentic'),
          unreadable: quarantine('unreadable'),
          dropped: countDropped.get() as number,
        },
      };
    },
  };
}

function countsOf(statement: Database.Statement): (state: string) => number {
  const rows = statement.all() as { state: string; count: number }[];
  const byState = new Map(rows.map((row) => [row.state, row.count]));
  return (state) => byState.get(state) ?? 0;
}
