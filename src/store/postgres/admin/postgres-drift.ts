import { driftBounds } from '../../shared/bounds.ts';
import type { Drift } from '../../../events/drift.ts';
import type { DriftRow, DriftStore } from '../../drift-store.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';

/** Differences from the platform's documents, in Postgres. */
export const driftOn = (session: Session): DriftStore => ({
  add: (rows) =>
    session.write(async (transaction) => {
      // Two processes could otherwise exceed the bounds together, or deadlock on each other's rows.
      await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.drift', 0))");
      const added: Drift[] = [];
      for (const row of rows) if (await addRow(transaction, row)) added.push(driftOf(row));
      return added;
    }),

  list: () =>
    session.query<DriftRow>(
      `select event_name as "eventName", path, kind, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", count
       from ringback.drift
       order by first_seen_at desc, event_name, path, kind`,
    ),
});

const driftOf = ({ eventName, path, kind }: DriftRow): Drift => ({ eventName, path, kind });

/** Resolves to whether the difference is new. */
async function addRow(
  transaction: Transaction,
  { eventName, path, kind, firstSeenAt, lastSeenAt, count }: DriftRow,
): Promise<boolean> {
  const values = [eventName, path, kind, firstSeenAt, lastSeenAt, count];
  const seen = await transaction.query(
    `update ringback.drift set count = count + $6, first_seen_at = least(first_seen_at, $4),
       last_seen_at = greatest(last_seen_at, $5)
     where event_name = $1 and path = $2 and kind = $3 returning 1`,
    values,
  );
  if (seen.length > 0) return false;
  const added = await transaction.query(
    `insert into ringback.drift select $1, $2, $3, $4, $5, $6
     where (select count(*) from ringback.drift) < ${driftBounds.rows}
       and (select count(*) from ringback.drift where event_name = $1) < ${driftBounds.rowsOfEvent} returning 1`,
    values,
  );
  return added.length > 0;
}
