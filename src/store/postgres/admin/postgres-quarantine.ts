import type { Headers } from '../../../events/model.ts';
import type { EventRecord } from '../../event-record.ts';
import { quarantineBounds } from '../../quarantine-bounds.ts';
import type {
  KeptDelivery,
  QuarantineEntry,
  QuarantineFilter,
  QuarantinePage,
  QuarantineRecord,
  QuarantineStore,
  Quarantined,
} from '../../quarantine-store.ts';
import type { Session, Transaction } from '../connection/session.ts';
import { fromText, fromTextOrUndefined, toText } from '../connection/text.ts';
import { recordOne } from '../work/event-row.ts';

interface EntryRow extends Omit<QuarantineEntry, 'traceId'> {
  readonly traceId: string | null;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

const claimedTraceId = "headers::jsonb ->> 'x-webhook-traceid'";
const columns = `id, kind, reason, digest, ${claimedTraceId} as "traceId", received_at as "receivedAt",
  coalesce(cut_from, octet_length(body))::bigint as bytes, cut_from is not null as "isCut"`;

/** Deliveries that no handler sees, in Postgres. */
export class PostgresQuarantine implements QuarantineStore {
  readonly #session: Session;
  #keeping: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
  }

  /** One at a time: a flood of deliveries that are not authentic must leave the connections to those that are. */
  keep(record: QuarantineRecord): Promise<Quarantined> {
    const kept = this.#keeping.then(() => this.#keep(record));
    this.#keeping = kept.catch(() => {});
    return kept;
  }

  #keep(record: QuarantineRecord): Promise<Quarantined> {
    return this.#session.write(async (transaction) => {
      const id = await insert(transaction, record);
      if (record.kind === 'unreadable') return { id, dropped: 0 };
      const dropped = await dropOldest(transaction);
      if (dropped + record.skipped > 0)
        await transaction.query(
          "update ringback.quarantine_totals set dropped = dropped + $1 where kind = 'not_authentic'",
          [dropped + record.skipped],
        );
      return { id, dropped };
    });
  }

  async list(filter: QuarantineFilter): Promise<QuarantinePage> {
    const { kind, reason, traceId, since, until, limit, cursor } = filter;
    const rows = await this.#session.read<EntryRow>(
      `select ${columns} from ringback.quarantine
       where ($1::bigint is null or id < $1) and ($2::text is null or kind = $2) and ($3::text is null or reason = $3)
         and ($4::text is null or strpos(${claimedTraceId}, $4) > 0)
         and ($5::bigint is null or received_at >= $5) and ($6::bigint is null or received_at < $6)
       order by id desc limit $7`,
      [
        cursor === undefined ? null : Number(cursor),
        kind ?? null,
        reason ?? null,
        traceId === undefined ? null : toText(traceId),
        since ?? null,
        until ?? null,
        limit,
      ],
    );
    const last = rows.length === limit ? rows.at(-1) : undefined;
    return { deliveries: rows.map(entryOf), cursor: last && String(last.id) };
  }

  async get(id: number): Promise<KeptDelivery | undefined> {
    const [row] = await this.#session.read<KeptRow>(
      `select ${columns}, headers, body from ringback.quarantine where id = $1`,
      [id],
    );
    return row && { ...entryOf(row), headers: JSON.parse(fromText(row.headers)) as Headers };
  }

  async unauthenticated(): Promise<readonly number[]> {
    const rows = await this.#session.read<{ id: number }>(
      "select id from ringback.quarantine where kind = 'not_authentic' order by id",
    );
    return rows.map(({ id }) => id);
  }

  /** `missing`: another process has released or discarded the delivery already, and its event is not ours to record. */
  release(id: number, record: EventRecord): Promise<'new' | 'duplicate' | 'missing'> {
    return this.#session.write(async (transaction) => {
      const removed = await transaction.query('delete from ringback.quarantine where id = $1 returning 1', [
        id,
      ]);
      if (removed.length === 0) return 'missing';
      const { sequence } = await recordOne(transaction, { record, mayClaim: false }, undefined);
      return sequence === undefined ? 'duplicate' : 'new';
    });
  }

  /** If a copy is already kept as unreadable, this delivery is removed. */
  async markUnreadable(id: number, reason: string): Promise<void> {
    await this.#session.write(async (transaction) => {
      const [found] = await transaction.query<{ digest: string }>(
        "select digest from ringback.quarantine where id = $1 and kind = 'not_authentic' for update",
        [id],
      );
      if (!found) return;
      // Two that mark copies of one delivery: the second sees what the first has made of it.
      await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.' || $1, 1))", [
        found.digest,
      ]);
      const marked = await transaction.query(
        `update ringback.quarantine set kind = 'unreadable', reason = $2 where id = $1 and not exists (
           select from ringback.quarantine where kind = 'unreadable' and digest = $3) returning 1`,
        [id, reason, found.digest],
      );
      if (marked.length === 0) await transaction.query('delete from ringback.quarantine where id = $1', [id]);
    });
  }

  async discard(id: number): Promise<boolean> {
    const removed = await this.#session.read('delete from ringback.quarantine where id = $1 returning 1', [
      id,
    ]);
    return removed.length > 0;
  }
}

/** Inserts a delivery. Resolves to its id, or to that of the copy that is here already. */
async function insert(transaction: Transaction, record: QuarantineRecord): Promise<number> {
  const { kind, reason, digest, receivedAt, headers, body, cutFrom } = record;
  const [row] = await transaction.query<{ id: number }>(
    `with added as (
       insert into ringback.quarantine (kind, reason, digest, received_at, headers, body, cut_from)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning id
     )
     select id from added union all
     select id from ringback.quarantine where kind = 'unreadable' and $1 = 'unreadable' and digest = $3 limit 1`,
    [
      kind,
      reason,
      digest,
      receivedAt,
      toText(JSON.stringify(headers)),
      Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      cutFrom ?? null,
    ],
  );
  // A copy that another process has committed since this statement began is seen by the next one.
  return row?.id ?? insert(transaction, record);
}

/**
 * Drops the oldest deliveries that are not authentic, beyond the bounds. Resolves to how many. The insert before it has locked
 * the totals, so that of two processes the second counts what the first has added.
 */
async function dropOldest(transaction: Transaction): Promise<number> {
  for (let dropped = 0; ; dropped += 1) {
    const over = await transaction.query(
      "select 1 from ringback.quarantine_totals where kind = 'not_authentic' and (count > $1 or bytes > $2)",
      [quarantineBounds.unauthenticated, quarantineBounds.unauthenticatedBytes],
    );
    if (over.length === 0) return dropped;
    await transaction.query(
      `delete from ringback.quarantine where id = (
         select min(id) from ringback.quarantine where kind = 'not_authentic')`,
    );
  }
}

function entryOf<Row extends EntryRow>(row: Row): Omit<Row, 'traceId'> & QuarantineEntry {
  return { ...row, traceId: fromTextOrUndefined(row.traceId) };
}
