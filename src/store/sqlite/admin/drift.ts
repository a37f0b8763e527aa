import type Database from 'better-sqlite3';
import type { Drift } from '../../../events/drift.ts';
import { driftBounds } from '../../shared/bounds.ts';
import type { DriftRow } from '../../drift-store.ts';

/** Counts differences, inside the caller's transaction, and lists them. */
export function prepareDrift(database: Database.Database) {
  const count = database.prepare(`
    update drift set count = count + @count, first_seen_at = min(first_seen_at, @firstSeenAt),
      last_seen_at = max(last_seen_at, @lastSeenAt)
    where event_name = @eventName and path = @path and kind = @kind`);
  const hasRoom = database
    .prepare(
      `select (select count(*) from drift) < ${driftBounds.rows}
         and (select count(*) from drift where event_name = ?) < ${driftBounds.rowsOfEvent}`,
    )
    .pluck();
  const insert = database.prepare(
    'insert into drift values (@eventName, @path, @kind, @firstSeenAt, @lastSeenAt, @count)',
  );
  const list = database.prepare(`
    select event_name as eventName, path, kind, first_seen_at as firstSeenAt, last_seen_at as lastSeenAt, count
    from drift order by first_seen_at desc, event_name, path, kind`);

  const add = (row: DriftRow): boolean => {
    if (count.run(row).changes > 0 || hasRoom.get(row.eventName) === 0) return false;
    insert.run(row);
    return true;
  };

  return {
    add: (rows: readonly DriftRow[]): Drift[] =>
      rows.filter(add).map(({ eventName, path, kind }) => ({ eventName, path, kind })),
    list: () => list.all() as DriftRow[],
  };
}
