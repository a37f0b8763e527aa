import type Database from 'better-sqlite3';
import {
  type KeptDelivery,
  type QuarantineEntry,
  type QuarantineFilter,
  type QuarantineKind,
  type QuarantineRecord,
  type Quarantined,
  claimedTraceId,
} from '../../quarantine-store.ts';
import type { EventRecord } from '../../event-record.ts';
import { rowNotKept, storedJson } from '../../shared/altered-rows.ts';
import { quarantineBounds } from '../../shared/bounds.ts';
import { eventRow, type prepareRecord } from '../work/record.ts';

interface EntryRow extends Omit<QuarantineEntry, 'traceId' | 'isCut'> {
  readonly traceId: string | null;
  readonly isCut: 0 | 1;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

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

/** How many deliveries one look goes through at most: some milliseconds, for which intake can wait. */
const lookedAtOnce = 1_000;

const columns = `id, kind, reason, digest, trace_id as traceId, received_at as receivedAt,
  coalesce(cut_from, length(body)) as bytes, cut_from is not null as isCut`;

/** Puts deliveries into quarantine, shows and takes them out. What writes runs inside the caller's transaction. */
export function prepareQuarantine(database: Database.Database, record: ReturnType<typeof prepareRecord>) {
  const deleteOne = database.prepare('delete from quarantine where id = ?');
  const deleteUnauthenticated = database.prepare(
    "delete from quarantine where id = ? and kind = 'not_authentic'",
  );
  const unauthenticated = database
    .prepare("select id from quarantine where kind = 'not_authentic' order by id")
    .pluck();
  const selectOne = database.prepare(`select ${columns}, headers, body from quarantine where id = ?`);
  const markUnreadable = database.prepare(
    "update or ignore quarantine set kind = 'unreadable', reason = @reason where id = @id and kind = 'not_authentic'",
  );
  const lookedAtLast = database
    .prepare<[number], number>(
      `select id from quarantine where id < ? order by id desc limit 1 offset ${lookedAtOnce - 1}`,
    )
    .pluck();
  const select = database.prepare(`
    select ${columns} from quarantine
    where id < @before and id >= @from
      and (@kind is null or kind = @kind) and (@reason is null or reason = @reason)
      and (@traceId is null or instr(trace_id, @traceId) > 0)
      and (@since is null or received_at >= @since) and (@until is null or received_at < @until)
    order by id desc limit @limit`);

  return {
    keep: prepareKeep(database),

    /** A part of a page: `next` is where the search for the rest of it continues, once other work has run. */
    search(
      { kind, reason, traceId, since, until }: QuarantineFilter,
      before: number,
      limit: number,
    ): { readonly deliveries: readonly QuarantineEntry[]; readonly next: number | undefined } {
      const from = lookedAtLast.get(before);
      const rows = select.all({
        kind: kind ?? null,
        reason: reason ?? null,
        traceId: traceId ?? null,
        since: since ?? null,
        until: until ?? null,
        from: from ?? 0,
        before,
        limit,
      }) as EntryRow[];
      return { deliveries: rows.map(entryOf), next: from };
    },

    get(id: number): KeptDelivery | undefined {
      const row = selectOne.get(id) as KeptRow | undefined;
      return row && { ...entryOf(row), headers: storedJson(row.headers, 'quarantine.headers', id) };
    },

    unauthenticated: () => unauthenticated.all() as number[],

    /** `missing`: the delivery was released or discarded already, so its event must not be recorded. */
    release(id: number, event: EventRecord): 'new' | 'duplicate' | 'missing' {
      if (deleteOne.run(id).changes === 0) return 'missing';
      // Events that share the transaction were recorded first.
      const [recorded] = record([eventRow(event, false)], false);
      return recorded?.sequence === undefined ? 'duplicate' : 'new';
    },

    /** If a copy is already kept as unreadable, removes this delivery. */
    markUnreadable(id: number, reason: string): void {
      if (markUnreadable.run({ id, reason }).changes === 0) deleteUnauthenticated.run(id);
    },

    discard: (id: number): boolean => deleteOne.run(id).changes > 0,
  };
}

function entryOf<Row extends EntryRow>(row: Row): Omit<Row, 'traceId' | 'isCut'> & QuarantineEntry {
  return { ...row, traceId: row.traceId ?? undefined, isCut: row.isCut === 1 };
}

/**
 * Writes a delivery into quarantine. Anyone can send unauthenticated deliveries, so their count and bytes are bounded.
 * Triggers keep the totals, so that in a flood no insert has to count rows.
 */
function prepareKeep(database: Database.Database): (row: QuarantineRow) => Kept {
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
