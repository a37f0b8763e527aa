import type Database from 'better-sqlite3';
import {
  type AuditCounts,
  type AuditPage,
  type AuditRequest,
  type AuditRow,
  auditKept,
  auditRemoved,
} from '../../audit-store.ts';

interface Row extends Omit<AuditRow, 'by' | 'reason' | 'finishedAt'> {
  readonly by: string | null;
  readonly reason: string | null;
  readonly finishedAt: number | null;
}

/** What people have done. `begin`, `count` and `end` run inside a transaction of the caller's. */
export function prepareAudit(database: Database.Database) {
  const insert = database.prepare(
    'insert into audit (action, requested_at, requested_by, reason, what) values (@action, @now, @by, @reason, @what)',
  );
  const removeOld = database.prepare(
    `delete from audit where id in (select id from audit order by id limit ${auditRemoved}) and requested_at < ?`,
  );
  const count = database.prepare('update audit set events = events + ?, runs = runs + ? where id = ?');
  const finish = database.prepare('update audit set finished_at = ? where id = ?');
  const select = database.prepare(`
    select id, action, requested_at as requestedAt, requested_by as "by", reason, what, events, runs,
      finished_at as finishedAt
    from audit where id < @before and requested_at >= @since and requested_at < @until order by id desc limit @limit`);

  const add = (id: number, { events, runs }: AuditCounts): void => void count.run(events, runs, id);

  return {
    begin(request: AuditRequest): number {
      removeOld.run(request.now - auditKept);
      const row = { ...request, by: request.by ?? null, reason: request.reason ?? null };
      return Number(insert.run(row).lastInsertRowid);
    },
    count: add,
    end(id: number, now: number, counts: AuditCounts): void {
      add(id, counts);
      finish.run(now, id);
    },
    list: ({ since, until, limit, before }: AuditPage): AuditRow[] =>
      (
        select.all({
          before: before ?? Number.MAX_SAFE_INTEGER,
          since: since ?? 0,
          until: until ?? Number.MAX_SAFE_INTEGER,
          limit,
        }) as Row[]
      ).map((row) => ({
        ...row,
        by: row.by ?? undefined,
        reason: row.reason ?? undefined,
        finishedAt: row.finishedAt ?? undefined,
      })),
  };
}
