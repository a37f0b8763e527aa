import type { StoreCounts } from '../../store.ts';
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

const newEvents = `select sequence from ringback.waiting union select sequence from ringback.claims
  union select sequence from ringback.owned`;

export async function counts(session: Session): Promise<StoreCounts> {
  const [row] = await session.query<CountRow>(
    `with new_events as materialized (${newEvents})
     select (select count(*) from ringback.events) as total, (select count(*) from new_events) as new,
       (select count(distinct sequence) from ringback.runs where state in ('due', 'claimed', 'blocked')
          and sequence not in (select sequence from new_events)) as open,
       (select count(*) from ringback.runs where state = 'due') as due,
       (select count(*) from ringback.runs where claimed_by is not null) as running,
       (select count(*) from ringback.runs where state = 'blocked') as blocked,
       (select count(*) from ringback.runs where state = 'dead') as dead,
       (select count from ringback.quarantine_totals where kind = 'not_authentic') as not_authentic,
       (select count from ringback.quarantine_totals where kind = 'unreadable') as unreadable,
       (select sum(dropped)::bigint from ringback.quarantine_totals) as dropped`,
  );
  if (!row) throw new Error('The database has counted nothing.');
  const { total, open, due, running, blocked, dead, not_authentic: notAuthentic, unreadable, dropped } = row;
  return {
    events: { new: row.new, open, done: total - row.new - open },
    runs: { due, running, blocked, dead },
    quarantine: { notAuthentic, unreadable, dropped },
  };
}
