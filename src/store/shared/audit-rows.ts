import type { AuditPage, AuditRow } from '../audit-store.ts';
import { nextCursor } from './cursor.ts';

/** An entry of the audit list, as both databases return it. */
export interface StoredEntry extends Omit<AuditRow, 'by' | 'reason' | 'finishedAt' | 'progress'> {
  readonly by: string | null;
  readonly reason: string | null;
  readonly finishedAt: number | null;
  readonly begunAfter: number | null;
  readonly upTo: number | null;
  readonly reached: number | null;
  readonly stoppedAt: number | null;
  /** JSON. */
  readonly handlers: string | null;
}

export const entryColumns = `id, action, requested_at as "requestedAt", requested_by as "by", reason, what, events, runs,
  finished_at as "finishedAt", begun_after as "begunAfter", up_to as "upTo", reached, handlers, stopped_at as "stoppedAt"`;

export function auditRow({ begunAfter, upTo, reached, stoppedAt, handlers, ...row }: StoredEntry): AuditRow {
  const progress =
    upTo === null
      ? undefined
      : {
          begunAfter: begunAfter ?? 0,
          upTo,
          reached: reached ?? 0,
          isStopped: stoppedAt !== null,
          handlers: handlersOf(handlers),
        };
  return {
    ...row,
    by: row.by ?? undefined,
    reason: row.reason ?? undefined,
    finishedAt: row.finishedAt ?? undefined,
    progress,
  };
}

export function auditPageOf(entries: readonly AuditRow[], limit: number): AuditPage {
  const ids = entries.map(({ id }) => id);
  return { entries, cursor: nextCursor('audit', ids, limit) };
}

/** The number of changed runs of each handler. */
export function handlersOf(stored: string | null): Readonly<Record<string, number>> {
  return stored === null ? {} : (JSON.parse(stored) as Record<string, number>);
}
