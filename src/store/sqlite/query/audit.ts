import type Database from 'better-sqlite3';
import {
  type AuditCounts,
  type AuditFilter,
  type AuditPage,
  type AuditRequest,
  type AuditRow,
  type ProgressStep,
  auditKept,
  auditRemoved,
} from '../../audit-store.ts';
import {
  type StoredEntry,
  auditPageOf,
  auditRow,
  entryColumns,
  handlersOf,
} from '../../shared/audit-rows.ts';
import { type ChangedRun, addRuns, noRuns } from '../../shared/changed-runs.ts';
import { numberIn } from '../../shared/cursor.ts';

/** The audit list. Functions that write run inside the caller's transaction. */
export function prepareAudit(database: Database.Database) {
  const insert = database.prepare(
    `insert into audit (action, requested_at, requested_by, reason, what, begun_after, up_to, reached)
     values (@action, @now, @by, @reason, @what, @begunAfter, @upTo, @begunAfter)`,
  );
  const removeOld = database.prepare(
    `delete from audit where id in (select id from audit order by id limit ${auditRemoved}) and requested_at < ?`,
  );
  const count = database.prepare('update audit set events = events + ?, runs = runs + ? where id = ?');
  const finish = database.prepare('update audit set finished_at = ? where id = ? and finished_at is null');
  const advance = database.prepare(
    'update audit set reached = @reached where id = @id and reached = @from and finished_at is null',
  );
  const readHandlers = database.prepare('select handlers from audit where id = ?').pluck();
  const writeHandlers = database.prepare('update audit set handlers = ? where id = ?');
  const stop = database.prepare(
    `update audit set finished_at = @now, stopped_at = @now
     where id = @id and up_to is not null and finished_at is null`,
  );
  const one = database.prepare(`select ${entryColumns} from audit where id = ?`);
  const running = database.prepare(
    `select ${entryColumns} from audit where up_to is not null and finished_at is null order by id desc`,
  );
  const select = database.prepare(`
    select ${entryColumns} from audit
    where id < @before and requested_at >= @since and requested_at < @until order by id desc limit @limit`);

  const rowOf = (row: unknown): AuditRow => auditRow(row as StoredEntry);

  return {
    begin(request: AuditRequest): number {
      if (request.mayRemove === true) removeOld.run(request.now - auditKept);
      const { by = null, reason = null, upTo = null, begunAfter = 0 } = request;
      return Number(insert.run({ ...request, by, reason, upTo, begunAfter }).lastInsertRowid);
    },
    end(id: number, now: number, { events, runs }: AuditCounts): void {
      count.run(events, runs, id);
      finish.run(now, id);
    },
    advance: (step: ProgressStep): boolean => advance.run(step).changes > 0,
    /** Adds the runs that a step has changed. */
    add(id: number, runs: readonly ChangedRun[]): void {
      const sums = addRuns({ ...noRuns, handlers: handlersOf(readHandlers.get(id) as string | null) }, runs);
      count.run(sums.events, sums.runs, id);
      writeHandlers.run(JSON.stringify(sums.handlers), id);
    },
    stop: (id: number, now: number): boolean => stop.run({ id, now }).changes > 0,
    get(id: number): AuditRow | undefined {
      const row = one.get(id);
      return row === undefined ? undefined : rowOf(row);
    },
    running: (): AuditRow[] => running.all().map(rowOf),
    list({ since, until, limit, cursor }: AuditFilter): AuditPage {
      const rows = select.all({
        before: numberIn('audit', cursor) ?? Number.MAX_SAFE_INTEGER,
        since: since ?? 0,
        until: until ?? Number.MAX_SAFE_INTEGER,
        limit,
      });
      return auditPageOf(rows.map(rowOf), limit);
    },
  };
}
