import type Database from 'better-sqlite3';
import type { Headers } from '../../model.ts';
import type {
  KeptDelivery,
  QuarantineEntry,
  QuarantineFilter,
  QuarantinePage,
  QuarantineRecord,
  Quarantined,
} from '../quarantine-store.ts';
import type { EventRecord } from '../event-record.ts';
import { eventRow, type prepareRecordOne } from './record.ts';

/** How much of the disk deliveries that are not authentic may take: beyond that, the oldest are dropped. */
const mostStrangers = 1_000;
const mostStrangerBytes = 50 * 1024 * 1024;

interface Held {
  readonly count: number;
  readonly bytes: number;
}

interface EntryRow extends Omit<QuarantineEntry, 'traceId'> {
  readonly traceId: string | null;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

const claimedTraceId = `headers ->> '$."x-webhook-traceid"'`;
const columns = `id, kind, reason, digest, ${claimedTraceId} as traceId, received_at as receivedAt, length(body) as bytes`;

/**
 * Keeps deliveries that no handler sees. Unreadable ones are authentic and kept like events, one row for all copies.
 * Anyone can send deliveries that are not authentic, so their count and bytes are bounded; triggers keep the totals,
 * so that in a flood no insert has to count the rows.
 */
export function prepareQuarantine(
  database: Database.Database,
  recordOne: ReturnType<typeof prepareRecordOne>,
) {
  const insert = database.prepare(`
    insert into quarantine (kind, reason, digest, received_at, headers, body)
    values (@kind, @reason, @digest, @receivedAt, @headers, @body) on conflict do nothing`);
  const copyOf = database
    .prepare("select id from quarantine where kind = 'unreadable' and digest = ?")
    .pluck();
  const held = database.prepare("select count, bytes from quarantine_totals where kind = 'not_authentic'");
  const addDropped = database.prepare(
    "update quarantine_totals set dropped = dropped + ? where kind = 'not_authentic'",
  );
  const deleteOldest = database.prepare(`
    delete from quarantine where id = (select min(id) from quarantine where kind = 'not_authentic')`);
  const deleteOne = database.prepare('delete from quarantine where id = ?');
  const deleteStranger = database.prepare("delete from quarantine where id = ? and kind = 'not_authentic'");
  const strangers = database
    .prepare("select id from quarantine where kind = 'not_authentic' order by id")
    .pluck();
  const selectOne = database.prepare(`select ${columns}, headers, body from quarantine where id = ?`);
  const markUnreadable = database.prepare(
    "update or ignore quarantine set kind = 'unreadable', reason = @reason where id = @id and kind = 'not_authentic'",
  );
  const page = database.prepare(`
    select ${columns} from quarantine
    where (@before is null or id < @before)
      and (@kind is null or kind = @kind) and (@reason is null or reason = @reason)
      and (@traceId is null or instr(${claimedTraceId}, @traceId) > 0)
      and (@since is null or received_at >= @since) and (@until is null or received_at < @until)
    order by id desc limit @limit`);

  const dropOldest = (): number => {
    const isOver = ({ count, bytes }: Held) => count > mostStrangers || bytes > mostStrangerBytes;
    let dropped = 0;
    while (isOver(held.get() as Held) && deleteOldest.run().changes > 0) dropped += 1;
    return dropped;
  };

  return {
    keep({ headers, skipped, ...record }: QuarantineRecord): Quarantined {
      const { changes, lastInsertRowid } = insert.run({ ...record, headers: JSON.stringify(headers) });
      const id = changes > 0 ? Number(lastInsertRowid) : (copyOf.get(record.digest) as number);
      if (record.kind === 'unreadable') return { id, dropped: 0 };
      const dropped = dropOldest();
      if (dropped + skipped > 0) addDropped.run(dropped + skipped);
      return { id, dropped };
    },

    list({ kind, reason, traceId, since, until, limit, cursor }: QuarantineFilter): QuarantinePage {
      const deliveries = page.all({
        kind: kind ?? null,
        reason: reason ?? null,
        traceId: traceId ?? null,
        since: since ?? null,
        until: until ?? null,
        before: cursor === undefined ? null : Number(cursor),
        limit,
      }) as EntryRow[];
      const last = deliveries.length === limit ? deliveries.at(-1) : undefined;
      return { deliveries: deliveries.map(entryOf), cursor: last && String(last.id) };
    },

    get(id: number): KeptDelivery | undefined {
      const row = selectOne.get(id) as KeptRow | undefined;
      return row && { ...entryOf(row), headers: JSON.parse(row.headers) as Headers };
    },

    strangers: () => strangers.all() as number[],

    /**
     * `missing`: another process has released or discarded the delivery already, and its event is not ours to record.
     */
    release(id: number, event: EventRecord): 'new' | 'duplicate' | 'missing' {
      if (deleteOne.run(id).changes === 0) return 'missing';
      return recordOne(eventRow(event, false)).sequence === undefined ? 'duplicate' : 'new';
    },

    /** If a copy is already kept as unreadable, this delivery is removed. */
    markUnreadable(id: number, reason: string): void {
      if (markUnreadable.run({ id, reason }).changes === 0) deleteStranger.run(id);
    },

    discard: (id: number): boolean => deleteOne.run(id).changes > 0,
  };
}

function entryOf<Row extends EntryRow>(row: Row): Omit<Row, 'traceId'> & QuarantineEntry {
  return { ...row, traceId: row.traceId ?? undefined };
}
