import type Database from 'better-sqlite3';
import type { KeptDelivery, QuarantineEntry, QuarantineFilter } from '../../quarantine-store.ts';
import type { EventRecord } from '../../event-record.ts';
import { storedJson } from '../../shared/altered-rows.ts';
import { eventRow, type prepareRecord } from '../work/record.ts';

interface EntryRow extends Omit<QuarantineEntry, 'traceId' | 'isCut'> {
  readonly traceId: string | null;
  readonly isCut: 0 | 1;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

/** How many deliveries one look goes through at most: some milliseconds, for which intake can wait. */
const lookedAtOnce = 1_000;

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
