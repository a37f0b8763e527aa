import type { StoreCounts } from '../../store.ts';
import { maxCounted } from '../../shared/bounds.ts';
import type { Session } from '../connection/session.ts';
import { fromText } from '../connection/text.ts';

/** Goes from name to name along the index of due runs: a hundred thousand waiting runs must not make a start slow. */
export async function waitingHandlers(session: Session): Promise<readonly string[]> {
  const rows = await session.query<{ handler: string }>(
    `with recursive waiting (handler) as (
       select min(handler) from ringback.runs where state = 'due' union all
       select (select min(handler) from ringback.runs where state = 'due' and handler > waiting.handler) from waiting
       where handler is not null)
     select handler from waiting where handler is not null`,
  );
  return rows.map(({ handler }) => fromText(handler));
}

interface CountRow {
  readonly total: number;
  readonly new: number;
  readonly open: number;
  readonly due: number;
  readonly running: number;
  readonly blocked: number;
  readonly dead: number;
  readonly not_authentic: number;
  readonly unreadable: number;
  readonly dropped: number;
}

/** How many events there are. To count ten million takes a second: of so many it is the planner's estimate by the table's size. */
const totalEvents = `(select case when reltuples < ${maxCounted} then (select count(*) from ringback.events)
    else (reltuples / greatest(relpages, 1) * (pg_relation_size(oid) / current_setting('block_size')::bigint))::bigint end
  from pg_class where oid = 'ringback.events'::regclass)`;

/** How many runs there are of a kind. */
const runs = (condition: string): string =>
  `(select count(*) from (select from ringback.runs where ${condition} limit ${maxCounted}) r)`;

const newEvents = `select sequence from ringback.waiting union select sequence from ringback.claims
  union select sequence from ringback.owned`;

export async function counts(session: Session): Promise<StoreCounts> {
  const [row] = await session.query<CountRow>(
    `with new_events as materialized (${newEvents})
     select ${totalEvents} as total, (select count(*) from new_events) as new,
       (select count(distinct sequence) from (
          select sequence from ringback.runs where state in ('due', 'claimed', 'blocked') limit ${maxCounted}) r
        where sequence not in (select sequence from new_events)) as open,
       ${runs("state = 'due'")} as due, ${runs('claimed_by is not null')} as running,
       ${runs("state = 'blocked'")} as blocked, ${runs("state = 'dead'")} as dead,
       (select count from ringback.quarantine_totals where kind = 'not_authentic') as not_authentic,
       (select count from ringback.quarantine_totals where kind = 'unreadable') as unreadable,
       (select sum(dropped)::bigint from ringback.quarantine_totals) as dropped`,
  );
  if (!row) throw new Error('The database has counted nothing.');
  const { total, open, due, running, blocked, dead, not_authentic: notAuthentic, unreadable, dropped } = row;
  return {
    events: { new: row.new, open, done: Math.max(0, total - row.new - open) },
    runs: { due, running, blocked, dead },
    quarantine: { notAuthentic, unreadable, dropped },
  };
}
