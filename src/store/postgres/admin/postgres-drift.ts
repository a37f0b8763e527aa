import { driftBounds } from '../../shared/bounds.ts';
import type { DriftRow, DriftStore } from '../../drift-store.ts';
import type { Session } from '../connection/session.ts';

/** Differences from the platform's documents, in Postgres. */
export const driftOn = (session: Session): DriftStore => ({
  async add(rows) {
    const each = withoutCopies(rows);
    const values = columnsOf(each);
    const added = await session.write(async (transaction) => {
      // Two processes could otherwise exceed the bounds together, or deadlock on each other's rows.
      await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.drift', 0))");
      await transaction.query(countSeen, values);
      return transaction.query<{ place: number }>(insertNew, values);
    });
    const isAdded = new Set(added.map(({ place }) => place));
    return each
      .filter((_, index) => isAdded.has(index + 1))
      .map(({ eventName, path, kind }) => ({ eventName, path, kind }));
  },

  list: () =>
    session.query<DriftRow>(
      `select event_name as "eventName", path, kind, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", count
       from ringback.drift
       order by first_seen_at desc, event_name, path, kind`,
    ),
});

const given = `unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
  with ordinality as n (event_name, path, kind, first_seen_at, last_seen_at, count, place)`;

const countSeen = `
  update ringback.drift d set count = d.count + n.count, first_seen_at = least(d.first_seen_at, n.first_seen_at),
    last_seen_at = greatest(d.last_seen_at, n.last_seen_at)
  from ${given} where d.event_name = n.event_name and d.path = n.path and d.kind = n.kind`;

/** Inserts new differences, in the order given, as far as there is room. */
const insertNew = `
  with fresh as (
    select n.*, row_number() over (partition by n.event_name order by n.place)
      + (select count(*) from ringback.drift o where o.event_name = n.event_name) as place_of_event
    from ${given} where not exists (
      select from ringback.drift d where d.event_name = n.event_name and d.path = n.path and d.kind = n.kind)
  ), room as (
    select * from fresh where place_of_event <= ${driftBounds.rowsOfEvent} order by place
    limit (select greatest(0, ${driftBounds.rows} - count(*)) from ringback.drift)
  ), added as (
    insert into ringback.drift select event_name, path, kind, first_seen_at, last_seen_at, count from room
  )
  select place from room`;

/** Sums up the counts of each difference, because a statement changes a row only once. */
function withoutCopies(rows: readonly DriftRow[]): readonly DriftRow[] {
  const each = new Map<string, DriftRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.eventName, row.path, row.kind]);
    const known = each.get(key) ?? { ...row, count: 0 };
    each.set(key, {
      ...known,
      firstSeenAt: Math.min(known.firstSeenAt, row.firstSeenAt),
      lastSeenAt: Math.max(known.lastSeenAt, row.lastSeenAt),
      count: known.count + row.count,
    });
  }
  return [...each.values()];
}

/** The arguments of both statements, a list for each column. */
function columnsOf(rows: readonly DriftRow[]): unknown[] {
  return [
    rows.map(({ eventName }) => eventName),
    rows.map(({ path }) => path),
    rows.map(({ kind }) => kind),
    rows.map(({ firstSeenAt }) => firstSeenAt),
    rows.map(({ lastSeenAt }) => lastSeenAt),
    rows.map(({ count }) => count),
  ];
}
