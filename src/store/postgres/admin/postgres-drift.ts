import type { Drift } from '../../../events/drift.ts';
import { driftBounds } from '../../drift-bounds.ts';
import type { DriftRow, DriftStore } from '../../drift-store.ts';
import type { Session, Transaction } from '../connection/session.ts';
import { fromText, toText } from '../connection/text.ts';

/** How the platform departs from its documents, in Postgres. */
export class PostgresDrift implements DriftStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  add(rows: readonly DriftRow[]): Promise<readonly Drift[]> {
    return this.#session.write(async (transaction) => {
      const fresh: Drift[] = [];
      // Two processes would otherwise count the rows beside each other, and wait for each other's rows in turn.
      await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.drift', 0))");
      for (const row of rows) {
        if (await isAdded(transaction, row))
          fresh.push({ eventName: row.eventName, path: row.path, kind: row.kind });
      }
      return fresh;
    });
  }

  async list(): Promise<readonly DriftRow[]> {
    const rows = await this.#session.read<DriftRow>(
      `select event_name as "eventName", path, kind, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", count
       from ringback.drift
       order by first_seen_at desc, event_name collate "C", path collate "C", kind collate "C"`,
    );
    return rows.map((row) => ({ ...row, eventName: fromText(row.eventName), path: fromText(row.path) }));
  }
}

/** Counts a difference. Resolves to whether it was never seen before, and there is room for it. */
async function isAdded(transaction: Transaction, row: DriftRow): Promise<boolean> {
  const { kind, firstSeenAt, lastSeenAt, count } = row;
  const values = [toText(row.eventName), toText(row.path), kind, firstSeenAt, lastSeenAt, count];
  const counted = await transaction.query(
    `update ringback.drift set count = count + $6, first_seen_at = least(first_seen_at, $4),
       last_seen_at = greatest(last_seen_at, $5)
     where event_name = $1 and path = $2 and kind = $3 returning 1`,
    values,
  );
  if (counted.length > 0) return false;
  const inserted = await transaction.query(
    `insert into ringback.drift select $1, $2, $3, $4, $5, $6
     where (select count(*) from ringback.drift) < ${driftBounds.rows}
       and (select count(*) from ringback.drift where event_name = $1) < ${driftBounds.rowsOfEvent} returning 1`,
    values,
  );
  return inserted.length > 0;
}
