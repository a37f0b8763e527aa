import {
  type AuditCounts,
  type AuditPage,
  type AuditRequest,
  type AuditRow,
  type AuditStore,
  auditKept,
  auditRemoved,
} from '../../audit-store.ts';
import type { Session } from '../connection/session.ts';
import { fromText, fromTextOrUndefined, toText, toTextOrNull } from '../connection/text.ts';

interface Row extends Omit<AuditRow, 'by' | 'reason' | 'finishedAt'> {
  readonly by: string | null;
  readonly reason: string | null;
  readonly finishedAt: number | null;
}

/** What people have done to a Postgres inbox. */
export class PostgresAudit implements AuditStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async begin({ action, by, reason, what, now }: AuditRequest): Promise<number> {
    const [row] = await this.#session.query<{ id: number }>(
      `with removed as (
         delete from ringback.audit where requested_at < $6
           and id in (select id from ringback.audit order by id limit ${auditRemoved}))
       insert into ringback.audit (action, requested_at, requested_by, reason, what) values ($1, $2, $3, $4, $5)
       returning id`,
      [action, now, toTextOrNull(by), toTextOrNull(reason), toText(what), now - auditKept],
    );
    return row?.id ?? 0;
  }

  async end(id: number, now: number, { events, runs }: AuditCounts): Promise<void> {
    await this.#session.query(
      'update ringback.audit set events = events + $3, runs = runs + $4, finished_at = $2 where id = $1',
      [id, now, events, runs],
    );
  }

  async list({ since, until, limit, before }: AuditPage): Promise<readonly AuditRow[]> {
    const rows = await this.#session.query<Row>(
      `select id, action, requested_at as "requestedAt", requested_by as "by", reason, what, events, runs,
         finished_at as "finishedAt"
       from ringback.audit where id < $1 and requested_at >= $2 and requested_at < $3 order by id desc limit $4`,
      [before ?? Number.MAX_SAFE_INTEGER, since ?? 0, until ?? Number.MAX_SAFE_INTEGER, limit],
    );
    return rows.map((row) => ({
      ...row,
      by: fromTextOrUndefined(row.by),
      reason: fromTextOrUndefined(row.reason),
      what: fromText(row.what),
      finishedAt: row.finishedAt ?? undefined,
    }));
  }
}
