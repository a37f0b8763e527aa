import type Database from 'better-sqlite3';
import type {
  KeptDelivery,
  QuarantineEntry,
  QuarantineFilter,
  QuarantinePage,
} from '../../quarantine-store.ts';
import type { EventRecord } from '../../event-record.ts';
import { storedJson } from '../../shared/altered-rows.ts';
import { cursorAfter, numberIn } from '../../shared/cursor.ts';
import { eventRow, type prepareRecord } from '../work/record.ts';

interface EntryRow extends Omit<QuarantineEntry, 'traceId' | 'isCut'> {
  readonly traceId: string | null;
  readonly isCut: 0 | 1;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

const columns = `id, kind, reason, digest, trace_id as traceId, received_at as receivedAt,
  coalesce(cut_from, length(body)) as bytes, cut_from is not null as isCut`;

/** Shows deliveries in quarantine, and takes them out; `keep-delivery.ts` puts them in. */
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
  const page = database.prepare(`
    select ${columns} from quarantine
    where (@before is null or id < @before)
      and (@kind is null or kind = @kind) and (@reason is null or reason = @reason)
      and (@traceId is null or instr(trace_id, @traceId) > 0)
      and (@since is null or received_at >= @since) and (@until is null or received_at < @until)
    order by id desc limit @limit`);

  return {
    list({ kind, reason, traceId, since, until, limit, cursor }: QuarantineFilter): QuarantinePage {
      const deliveries = page.all({
        kind: kind ?? null,
        reason: reason ?? null,
        traceId: traceId ?? null,
        since: since ?? null,
        until: until ?? null,
        before: numberIn('quarantine', cursor) ?? null,
        limit,
      }) as EntryRow[];
      const last = deliveries.length === limit ? deliveries.at(-1) : undefined;
      return { deliveries: deliveries.map(entryOf), cursor: last && cursorAfter('quarantine', last.id) };
    },

    get(id: number): KeptDelivery | undefined {
      const row = selectOne.get(id) as KeptRow | undefined;
      return row && { ...entryOf(row), headers: storedJson(row.headers, 'quarantine.headers', id) };
    },

    unauthenticated: () => unauthenticated.all() as number[],

    /** `missing`: the delivery was released or discarded already, so its event must not be recorded. */
    release(id: number, event: EventRecord): 'new' | 'duplicate' | 'missing' {
      if (deleteOne.run(id).changes === 0) return 'missing';
      const [recorded] = record([eventRow(event, false)]);
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
