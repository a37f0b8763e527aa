import {
  type AuditRow,
  type AuditStore,
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
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';

/** The audit list in Postgres. */
export const auditOn = (session: Session): AuditStore => ({
  async begin({ action, by, reason, what, now, mayRemove = false, upTo, begunAfter = 0 }) {
    const { id } = await oneRow<{ id: number }>(
      session,
      `with removed as (
         delete from ringback.audit where $9 and requested_at < $6
           and id in (select id from ringback.audit order by id limit ${auditRemoved}))
       insert into ringback.audit (action, requested_at, requested_by, reason, what, begun_after, up_to, reached)
       values ($1, $2, $3, $4, $5, $8, $7, $8) returning id`,
      [action, now, by ?? null, reason ?? null, what, now - auditKept, upTo ?? null, begunAfter, mayRemove],
    );
    return id;
  },

  async end(id, now, { events, runs }) {
    await session.query(
      `update ringback.audit set events = events + $3, runs = runs + $4, finished_at = coalesce(finished_at, $2)
       where id = $1`,
      [id, now, events, runs],
    );
  },

  async get(id) {
    const [row] = await rowsOf(session, 'where id = $1', [id]);
    return row;
  },

  running: () => rowsOf(session, 'where up_to is not null and finished_at is null order by id desc', []),
  advance: (step) => advance(session, step),

  async stop(id, now) {
    const stopped = await session.query(
      `update ringback.audit set finished_at = $2, stopped_at = $2
       where id = $1 and up_to is not null and finished_at is null returning id`,
      [id, now],
    );
    return stopped.length > 0;
  },

  async list({ since, until, limit, cursor }) {
    const where = 'where id < $1 and requested_at >= $2 and requested_at < $3 order by id desc limit $4';
    const rows = await rowsOf(session, where, [
      numberIn('audit', cursor) ?? Number.MAX_SAFE_INTEGER,
      since ?? 0,
      until ?? Number.MAX_SAFE_INTEGER,
      limit,
    ]);
    return auditPageOf(rows, limit);
  },
});

async function rowsOf(
  session: Session,
  which: string,
  values: readonly unknown[],
): Promise<readonly AuditRow[]> {
  const rows = await session.query<StoredEntry>(
    `select ${entryColumns} from ringback.audit ${which}`,
    values,
  );
  return rows.map(auditRow);
}

/** Resolves to whether the step is the next one of its entry. Locks the entry until the transaction ends. */
export async function advance(
  transaction: Pick<Transaction, 'query'>,
  { id, from, reached }: ProgressStep,
): Promise<boolean> {
  const written = await transaction.query(
    'update ringback.audit set reached = $3 where id = $1 and reached = $2 and finished_at is null returning id',
    [id, from, reached],
  );
  return written.length > 0;
}

/** Adds the runs that a step has changed. */
export async function addToEntry(
  transaction: Transaction,
  id: number,
  runs: readonly ChangedRun[],
): Promise<void> {
  const [row] = await transaction.query<{ handlers: string | null }>(
    'select handlers from ringback.audit where id = $1',
    [id],
  );
  const sums = addRuns({ ...noRuns, handlers: handlersOf(row?.handlers ?? null) }, runs);
  await transaction.query(
    'update ringback.audit set events = events + $2, runs = runs + $3, handlers = $4 where id = $1',
    [id, sums.events, sums.runs, JSON.stringify(sums.handlers)],
  );
}
