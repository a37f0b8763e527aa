import type {
  KeptDelivery,
  QuarantineEntry,
  QuarantineRecord,
  QuarantineStore,
} from '../../quarantine-store.ts';
import { Semaphore } from '../../../kit/limiters.ts';
import { storedJson } from '../../shared/altered-rows.ts';
import { nextCursor, numberIn } from '../../shared/cursor.ts';
import { recordedInTime } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { intakeConnections } from '../connection/target.ts';
import { recordGroup } from '../work/record.ts';
import { maxWaitingBytes } from '../work/record-queue.ts';
import { keepDelivery, removeQuarantined } from './keep-delivery.ts';

interface EntryRow extends Omit<QuarantineEntry, 'traceId'> {
  readonly traceId: string | null;
}

interface KeptRow extends EntryRow, Pick<KeptDelivery, 'body'> {
  readonly headers: string;
}

const columns = `id, kind, reason, digest, trace_id as "traceId", received_at as "receivedAt",
  coalesce(cut_from, octet_length(body))::bigint as bytes, cut_from is not null as "isCut"`;

/** The quarantine in Postgres. */
export function quarantineOn(session: Session): QuarantineStore {
  const unauthenticated = new Semaphore(1);
  const unreadable = new Semaphore(intakeConnections.max);
  const tooMany = () => new Error('too many deliveries wait for the quarantine');
  let waitingBytes = 0;

  /**
   * Keeps deliveries a few at a time, so that a flood of them leaves connections to others. While the database is slow,
   * those that wait must not fill the memory: one is not kept if it finds too many, nor if its turn comes after its
   * sender was answered.
   */
  const keepInTurn = async (record: QuarantineRecord, turns: Semaphore, connections: Session) => {
    const bytes = record.body.byteLength;
    if (waitingBytes > 0 && waitingBytes + bytes > maxWaitingBytes) throw tooMany();
    waitingBytes += bytes;
    let waiting: QuarantineRecord | undefined = record;
    const kept = turns.run(async () => {
      if (!waiting) throw tooMany();
      return keepDelivery(connections, waiting);
    });
    return recordedInTime(session.clock, kept).finally(() => {
      waiting = undefined;
      waitingBytes -= bytes;
    });
  };

  return {
    keep: (record) =>
      record.kind === 'not_authentic'
        ? keepInTurn(record, unauthenticated, session)
        : keepInTurn(record, unreadable, session.intake),

    async list(filter) {
      const { kind, reason, traceId, since, until, limit, cursor } = filter;
      const rows = await session.query<EntryRow>(
        `select ${columns} from ringback.quarantine
         where ($1::bigint is null or id < $1) and ($2::text is null or kind = $2) and ($3::text is null or reason = $3)
           and ($4::text is null or strpos(trace_id, $4) > 0)
           and ($5::bigint is null or received_at >= $5) and ($6::bigint is null or received_at < $6)
         order by id desc limit $7`,
        [
          numberIn('quarantine', cursor) ?? null,
          kind ?? null,
          reason ?? null,
          traceId ?? null,
          since ?? null,
          until ?? null,
          limit,
        ],
      );
      const ids = rows.map(({ id }) => id);
      return { deliveries: rows.map(entryOf), cursor: nextCursor('quarantine', ids, limit) };
    },

    async get(id) {
      const [row] = await session.query<KeptRow>(
        `select ${columns}, headers, body from ringback.quarantine where id = $1`,
        [id],
      );
      return row && { ...entryOf(row), headers: storedJson(row.headers, 'quarantine.headers', id) };
    },

    async unauthenticated() {
      const rows = await session.query<{ id: number }>(
        "select id from ringback.quarantine where kind = 'not_authentic' order by id",
      );
      return rows.map(({ id }) => id);
    },

    /** `missing`: the delivery was released or discarded already, so its event must not be recorded. */
    release: (id, record) =>
      session.write(async (transaction) => {
        if ((await removeQuarantined(transaction, [id])) === 0) return 'missing';
        const event = { record, mayClaim: false };
        const { recorded } = await recordGroup(transaction, [event], undefined, { areNeeded: true });
        return recorded[0]?.sequence === undefined ? 'duplicate' : 'new';
      }),

    /** If a copy is already kept as unreadable, removes this delivery. */
    async markUnreadable(id, reason) {
      await session.write(async (transaction) => {
        // No copy is kept meanwhile.
        await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.quarantine', 0))");
        const marked = await transaction.query(
          `update ringback.quarantine q set kind = 'unreadable', reason = $2
           where id = $1 and kind = 'not_authentic' and not exists (
             select from ringback.quarantine c where c.kind = 'unreadable' and c.digest = q.digest) returning 1`,
          [id, reason],
        );
        if (marked.length > 0) return;
        await transaction.query("delete from ringback.quarantine where id = $1 and kind = 'not_authentic'", [
          id,
        ]);
      });
    },

    discard: async (id) => (await removeQuarantined(session, [id])) > 0,
  };
}

function entryOf<Row extends EntryRow>(row: Row): Omit<Row, 'traceId'> & QuarantineEntry {
  return { ...row, traceId: row.traceId ?? undefined };
}
