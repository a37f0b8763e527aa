import type Database from 'better-sqlite3';

/** The ids of the calls that other processes than this one work on. */
export type CallsOfOthers = (process: number) => ReadonlySet<unknown>;

/**
 * Two processes must not run one call's events side by side, so a process that claims passes over the calls of the
 * others.
 */
export function prepareCallsOfOthers(database: Database.Database): CallsOfOthers {
  const hasOthers = database.prepare('select 1 from processes where id <> ? limit 1');
  const select = database
    .prepare(
      `select call_id from claims join events using (sequence) where process <> @process and call_id is not null
       union select call_id from runs where claimed_by is not null and claimed_by <> @process and call_id is not null`,
    )
    .pluck();

  return (process) => new Set(hasOthers.get(process) === undefined ? [] : select.all({ process }));
}
