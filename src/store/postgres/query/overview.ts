import type { StoreCounts } from '../../store.ts';
import { maxCounted } from '../../shared/bounds.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { isOpen } from './event-state.ts';

/** The handlers with due runs. */
export async function waitingHandlers(session: Session): Promise<readonly string[]> {
  const rows = await session.query<{ handler: string }>(
    `${withDueHandlers} select handler from due_handlers`,
  );
  return rows.map(({ handler }) => handler);
}

/**
 * Begins a statement that reads `due_handlers`. Goes from name to name along the index of due runs, so that a hundred
 * thousand of them don't make a start slow.
 */
export const withDueHandlers = `
  with recursive names (handler) as (
    select min(handler) from ringback.runs where state = 'due' union all
    select (select min(handler) from ringback.runs where state = 'due' and handler > names.handler) from names
    where handler is not null),
  due_handlers as (select handler from names where handler is not null)`;

interface CountRow {
  readonly new: number;
  readonly claimed: number;
  readonly open: number;
  readonly due: number;
  readonly running: number;
  readonly blocked: number;
  readonly dead: number;
  readonly not_authentic: number;
  readonly unreadable: number;
  readonly dropped: number;
}

/**
 * The number of events, as the planner estimates it by the table's size; no row if there are few. A statement of its
 * own, because the plan of one that may also count is slow even when it doesn't.
 */
const estimatedEvents = `
  select (reltuples / greatest(relpages, 1) * (pg_relation_size(oid) / current_setting('block_size')::bigint))::bigint
    as estimate
  from pg_class where oid = 'ringback.events'::regclass and reltuples >= ${maxCounted}`;

/** The number of events; estimated if there are many, because counting ten million takes a second. */
async function eventsIn(session: Session): Promise<number> {
  const [estimated] = await session.query<{ estimate: number }>(estimatedEvents);
  if (estimated) return estimated.estimate;
  const { count } = await oneRow<{ count: number }>(session, 'select count(*) as count from ringback.events');
  return count;
}

const some = (table: 'runs' | 'quarantine', condition: string): string =>
  `(select count(*) from (select from ringback.${table} where ${condition} limit ${maxCounted}) s)`;

const claimedEvents = 'select sequence from ringback.claims union select sequence from ringback.all_owned';

/**
 * `waiting` is looked up one by one: after an outage millions may wait, and `not in` would search their list each time.
 */
const openEvents = `
  select count(distinct r.sequence) from (
    select sequence from ringback.runs where ${isOpen} limit ${maxCounted}) r
  where not exists (select from ringback.waiting w where w.sequence = r.sequence)
    and r.sequence not in (select sequence from claimed_events)`;

export async function counts(session: Session): Promise<StoreCounts> {
  const total = await eventsIn(session);
  const row = await oneRow<CountRow>(
    session,
    `with claimed_events as materialized (${claimedEvents})
     select (select count(*) from ringback.waiting) + (select count(*) from claimed_events) as new,
       (select count(*) from claimed_events) as claimed, (${openEvents}) as open,
       ${some('runs', "state = 'due'")} as due, ${some('runs', 'claimed_by is not null')} as running,
       ${some('runs', "state = 'blocked'")} as blocked, ${some('runs', "state = 'dead'")} as dead,
       ${some('quarantine', "kind = 'not_authentic'")} as not_authentic,
       ${some('quarantine', "kind = 'unreadable'")} as unreadable,
       coalesce((select value from ringback.settings where name = 'quarantine_dropped'), '0')::bigint as dropped`,
  );
  const { open, due, running, blocked, dead, not_authentic: notAuthentic, unreadable, dropped } = row;
  return {
    events: { new: row.new, open, done: Math.max(0, total - row.new - open) },
    claims: { events: row.claimed },
    runs: { due, running, blocked, dead },
    quarantine: { notAuthentic, unreadable, dropped },
  };
}
