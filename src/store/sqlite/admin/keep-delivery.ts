import type Database from 'better-sqlite3';
import { quarantineBounds } from '../../shared/bounds.ts';
import {
  type QuarantineKind,
  type QuarantineRecord,
  type Quarantined,
  claimedTraceId,
} from '../../quarantine-store.ts';
import { rowNotKept } from '../../shared/altered-rows.ts';

export interface QuarantineRow {
  readonly kind: QuarantineKind;
  readonly reason: string;
  readonly digest: string;
  readonly receivedAt: number;
  readonly traceId: string | null;
  readonly headers: string;
  readonly body: Uint8Array;
  readonly cutFrom: number | null;
  readonly skipped: number;
}

/** The outcome of the write. */
export interface Kept extends Quarantined {
  /** False if a copy was here already. */
  readonly isNew: boolean;
}

export function quarantineRow({ headers, cutFrom, ...record }: QuarantineRecord): QuarantineRow {
  return {
    ...record,
    traceId: claimedTraceId(headers) ?? null,
    headers: JSON.stringify(headers),
    cutFrom: cutFrom ?? null,
  };
}

interface Held {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Writes a delivery into quarantine, inside the caller's transaction. Anyone can send unauthenticated deliveries, so
 * their count and bytes are bounded. Triggers keep the totals, so that in a flood no insert has to count rows.
 */
export function prepareKeepDelivery(database: Database.Database): (row: QuarantineRow) => Kept {
  const insert = database.prepare(`
    insert into quarantine (kind, reason, digest, received_at, trace_id, cut_from, headers, body)
    values (@kind, @reason, @digest, @receivedAt, @traceId, @cutFrom, @headers, @body) on conflict do nothing`);
  const copyOf = database
    .prepare("select id from quarantine where kind = 'unreadable' and digest = ?")
    .pluck();
  const held = database.prepare("select count, bytes from quarantine_totals where kind = 'not_authentic'");
  const addDropped = database.prepare(
    "update quarantine_totals set dropped = dropped + ? where kind = 'not_authentic'",
  );
  const deleteOldest = database.prepare(`
    delete from quarantine where id = (select min(id) from quarantine where kind = 'not_authentic')`);

  const dropOldest = (): number => {
    const isOver = ({ count, bytes }: Held) =>
      count > quarantineBounds.unauthenticated || bytes > quarantineBounds.unauthenticatedBytes;
    let dropped = 0;
    while (isOver(held.get() as Held) && deleteOldest.run().changes > 0) dropped += 1;
    return dropped;
  };

  return ({ skipped, ...row }) => {
    const { changes, lastInsertRowid } = insert.run(row);
    const isNew = changes > 0;
    const id = isNew ? Number(lastInsertRowid) : (copyOf.get(row.digest) as number | undefined);
    if (id === undefined) throw rowNotKept('quarantine');
    if (row.kind === 'unreadable') return { id, dropped: 0, isNew };
    const dropped = dropOldest();
    if (dropped + skipped > 0) addDropped.run(dropped + skipped);
    return { id, dropped, isNew };
  };
}
