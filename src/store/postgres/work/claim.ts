import type { HandlerTerms, RunSelection } from '../../claims.ts';
import type { FoundEvent, FoundRun, OpenRun } from '../../shared/found-work.ts';
import {
  type ClaimedEventRow,
  type ClaimedRunRow,
  claimedEventOf,
  foundRunOf,
} from '../../shared/event-rows.ts';
import type { Session } from '../connection/session.ts';
import { isOpen } from '../query/event-state.ts';

/** The most bytes of bodies that one claim takes, however many rows were asked for: bodies may have 5 MB. */
const claimBytes = 8 * 1024 * 1024;

interface FoundEventRow extends ClaimedEventRow {
  readonly stored_handlers: string[];
  readonly open_runs: { readonly handler: string; readonly unbegun: boolean }[];
}

const fields = `e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.received_at, b.headers, b.body,
  coalesce(c.count, 0) as crash_count, coalesce(c.reading_crashes, 0) as reading_crashes`;
const sources = `ringback.events e join ringback.bodies b using (sequence)
  left join ringback.crash_counts c using (sequence)`;

/** Claims waiting events. */
export async function claimEvents(
  session: Session,
  process: number,
  limit: number,
): Promise<readonly FoundEvent[]> {
  return session.write(async (transaction) => {
    const claimed = await transaction.query<{ sequence: number }>(
      'select ringback.claim_events($1, $2, $3) as sequence',
      [process, limit, claimBytes],
    );
    if (claimed.length === 0) return [];
    const rows = await transaction.query<FoundEventRow>(eventsClaimed, [
      claimed.map(({ sequence }) => sequence),
    ]);
    return rows.map((row) => foundEvent(row, process));
  });
}

/** `open_runs`: the open runs before it, one for each handler, preferably one neither begun nor blocked. */
const eventsClaimed = `
  select ${fields},
    array_to_json(array(select handler from ringback.runs r where r.sequence = e.sequence)) as stored_handlers,
    (select coalesce(json_agg(before), '[]') from (
      select r.handler, bool_or(r.attempts = 0 and r.state <> 'blocked') as unbegun from ringback.runs r
      where r.call_id = e.call_id and r.sequence < e.sequence and r.${isOpen}
      group by r.handler) before) as open_runs
  from ${sources} where e.sequence = any ($1) order by e.sequence`;

/** Claims due runs of a handler. */
export async function claimRuns(
  session: Session,
  process: number,
  { name, order }: HandlerTerms,
  { limit, bytes, now, without, isOneACall }: RunSelection,
): Promise<readonly FoundRun[]> {
  return session.write(async (transaction) => {
    const values = [process, name, now, order === 'strict', without, isOneACall, limit];
    const candidates = await transaction.query<{ sequence: number; call_id: string | null }>(dueRuns, values);
    if (candidates.length === 0) return [];
    const free = await transaction.query<{ call_id: string }>(lockCalls, [
      candidates.map(({ call_id: callId }) => callId),
    ]);
    const rows = await transaction.query<ClaimedRunRow>(runsClaimed, [
      process,
      name,
      candidates.map(({ sequence }) => sequence),
      Math.min(claimBytes, Math.max(1, bytes)),
      free.map(({ call_id: callId }) => callId),
    ]);
    return rows.map((row) => ({ ...foundRunOf(row), claimedBy: process }));
  });
}

/**
 * Locks calls in a statement of its own, so that the next one has a new snapshot and sees what the former holder of a
 * lock has committed. A call whose lock is taken is left to its holder.
 */
const lockCalls = `
  select c.call_id from (select distinct call_id from unnest($1::text[]) as d (call_id) order by 1) c
  where c.call_id is not null and pg_try_advisory_xact_lock(hashtextextended('ringback.calls.' || c.call_id, 0))`;

/**
 * SQL: nothing of its call goes before a run. With order `strict`, a run waits for earlier due or blocked runs of its
 * call, but not for blocked ones that a replay has requeued. A run that has begun, or that a replay has requeued, need
 * not wait for unclaimed events: it has come before them already.
 */
const comesFirst = (run: string): string => `(${run}.call_id is null or (
  not ($4 and exists (
    select from ringback.runs o
    where o.call_id = ${run}.call_id and o.handler = ${run}.handler and o.sequence < ${run}.sequence
      and (o.state = 'due' or (o.state = 'blocked' and o.replay is null))))
  and (${run}.attempts > 0 or ${run}.replay is not null or not exists (
    select from ringback.waiting w where w.call_id = ${run}.call_id and w.sequence < ${run}.sequence))))`;

/** Reads the index only up to the last run that it claims: after an outage or a replay, millions may be due. */
const dueRuns = `
  with others as materialized (select call_id from ringback.calls_of_others($1) as o (call_id))
  select r.sequence, r.call_id from ringback.runs r
  where r.handler = $2 and r.state = 'due' and r.due_at <= $3 and (select ringback.lives($1))
    and (r.call_id is null or (
      r.call_id not in (select call_id from others) and r.call_id <> all ($5::text[])))
    and ${comesFirst('r')}
    and not ($6 and r.call_id is not null and exists (
      select from ringback.runs f
      where f.call_id = r.call_id and f.handler = r.handler and f.state = 'due'
        and (f.due_at, f.sequence) < (r.due_at, r.sequence) and ${comesFirst('f')}))
  order by r.due_at, r.sequence limit $7`;

const runsClaimed = `
  with others as materialized (select call_id from ringback.calls_of_others($1) as o (call_id)),
  locked as (
    select r.sequence, r.handler, r.due_at from ringback.runs r
    where r.sequence = any ($3) and r.handler = $2 and r.state = 'due'
      and (r.call_id is null or (r.call_id = any ($5) and r.call_id not in (select call_id from others)))
    order by r.due_at, r.sequence for update skip locked
  ), sized as (
    select locked.*, sum(octet_length(b.body)) over (order by due_at, sequence) - octet_length(b.body) as before
    from locked join ringback.bodies b using (sequence)
  ), claimed as (
    update ringback.runs r set state = 'claimed', claimed_by = $1 from sized s
    where r.sequence = s.sequence and r.handler = s.handler and s.before < $4
    returning r.*, s.due_at as was_due_at
  )
  select ${fields}, claimed.handler, claimed.attempts, claimed.replay, claimed.was_due_at, p.requested_by as replayed_by,
    p.reason as replay_reason, p.finished_at as replayed_at
  from claimed join (${sources}) using (sequence) left join ringback.audit p on p.id = claimed.replay
  order by claimed.was_due_at, claimed.sequence`;

export async function nextDue(session: Session, handler: string, after = Number.MIN_SAFE_INTEGER) {
  const [row] = await session.query<{ due_at: number }>(
    `select due_at from ringback.runs where handler = $1 and state = 'due' and due_at > $2 order by due_at limit 1`,
    [handler, after],
  );
  return row?.due_at;
}

function foundEvent(row: FoundEventRow, claimedBy: number): FoundEvent {
  const openRuns = row.open_runs.map(({ handler, unbegun }): OpenRun => ({
    handler,
    hasBegun: !unbegun,
  }));
  return {
    ...claimedEventOf(row),
    claimedBy,
    storedHandlers: row.stored_handlers,
    openRuns,
  };
}
