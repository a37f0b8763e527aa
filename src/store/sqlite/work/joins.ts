import type Database from 'better-sqlite3';
import type { JoinLookBack } from '../../call-store.ts';
import { type Sequence, callKey } from '../../event-record.ts';
import type { Settled } from '../../claims.ts';
import {
  type JoinArrival,
  type JoinRow,
  hasSeenAll,
  isLate,
  joinDueAt,
  progressAfter,
  progressOf,
} from '../../shared/join-progress.ts';
import { fromEventsOfCall, laterSequencesOfCall, prepareEraCount } from './call-index.ts';
import type { ClaimOnEvent, ClaimOnRun } from '../../shared/claimed-work.ts';
import { byCall, isOpen, isUnbegun } from './open-runs.ts';
import { asText } from '../connection/parameters.ts';

/** An event of a call that counts for a join. */
type EventOfJoin = Pick<JoinArrival, 'sequence' | 'callId' | 'eventName'>;
/** A stored run of a join. */
type RunOfJoin = Pick<JoinArrival, 'handler' | 'callId'> & ClaimOnRun;
/** A look at the events after `after`. */
type LookBackFrom = JoinLookBack & { readonly after: Sequence };
type JoinOfCall = Pick<JoinLookBack, 'handler' | 'events' | 'within' | 'runsAgain'>;

/** What joins need from `prepareSettling`. */
interface JoinParts {
  /** Whether the process still holds its claim. */
  readonly holdsEvent: (claim: ClaimOnEvent) => boolean;
  readonly holdsRun: (claim: ClaimOnRun) => boolean;
  readonly endClaim: (claim: ClaimOnEvent) => unknown;
}

/**
 * How many events one look back goes through, and how many eras it searches for them in all: other writes wait for it.
 */
const lookSize = 500;
const erasAtOnce = 5_000;

/**
 * A join's wait is a run that is due when the join's time is over; the last missing event makes it due at once. So a
 * wait costs one row and no timer, and survives a crash.
 */
export function prepareJoins(database: Database.Database, { holdsEvent, holdsRun, endClaim }: JoinParts) {
  const eraCount = prepareEraCount(database);
  const select = database.prepare(
    'select seen, settled, reruns, progress from joins where handler = ? and call_id = ?',
  );
  const open = database.prepare('insert into joins (handler, call_id) values (?, ?) on conflict do nothing');
  const insertRun = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at) values (?, ?, ?, 'due', 0, ?)
    on conflict do nothing`);
  const makeDue = database.prepare(`
    update runs ${byCall} set due_at = min(due_at, ?) where call_id = ? and handler = ? and ${isOpen} and ${isUnbegun}`);
  const remember = database.prepare(
    'update joins set seen = @seen, reruns = iif(@isSettled, 0, reruns) where handler = @handler and call_id = @callId',
  );
  const countRerun = database.prepare(
    'update joins set reruns = reruns + 1 where handler = ? and call_id = ?',
  );
  // An event that another process has claimed counts as missed: the join may not be registered there. If the call
  // already has the join, an event is missed if it came after the last one counted, and no run has seen it. If the join
  // now waits for other events than before, all are counted anew: it may be complete.
  const missed = database.prepare(`
    select call_id as callId, event_name as eventName, min(sequence) as sequence from events
    where sequence > @after and sequence <= @until and received_at >= @since and call_id is not null
      and event_name in (select value from json_each(@events))
      and not exists (select 1 from waiting where waiting.sequence = events.sequence)
      and not exists (select 1 from joins where joins.handler = @handler and joins.call_id = events.call_id and (
        (events.sequence <= json_extract(progress, '$.until')
          and (seen is not null or json_extract(progress, '$.events') = @events))
        or (seen is not null and (not @runsAgain or reruns > 0 or instr(seen, '"' || event_name || '"') > 0))))
    group by call_id, event_name order by 3`);
  const newest = database.prepare('select max(sequence) from events').pluck();

  // Runs for each of the call's events, so it reads only those that came since: a call may have a hundred thousand.
  const namesSince = database
    .prepare(
      `select distinct event_name from events
       where sequence in (${laterSequencesOfCall('@key', '@after')}) and call_id = ${asText('@callId')}
         and event_name in (select value from json_each(${asText('@missing')}))`,
    )
    .pluck();
  const advance = database.prepare('update joins set progress = ? where handler = ? and call_id = ?');
  const firstArrival = database
    .prepare(
      `select min(e.received_at) ${fromEventsOfCall}
         and e.event_name in (select value from json_each(${asText('@events')}))`,
    )
    .pluck();

  /** Whether no event of the join is missing. Stores the progress, so that no event is read twice. */
  const isComplete = (
    { handler, events }: Pick<JoinLookBack, 'handler' | 'events'>,
    callId: string,
    progress: string | null,
  ): boolean => {
    const before = progressOf(progress, events);
    if (before.missing.length === 0) return true;
    const until = (newest.get() as Sequence | null) ?? 0;
    const missing = JSON.stringify(before.missing);
    const since = { key: callKey(callId), callId, after: before.until, missing };
    const now = progressAfter(before, new Set(namesSince.all(since) as string[]), until);
    advance.run(JSON.stringify(now), handler, callId);
    return now.missing.length === 0;
  };

  const openJoin = (
    join: Pick<JoinLookBack, 'handler' | 'events' | 'within'>,
    callId: string,
    sequence: number,
    now: number,
  ): void => {
    const { handler, events, within } = join;
    open.run(handler, callId);
    if (isComplete(join, callId, null)) return void insertRun.run(sequence, handler, callId, 0);
    const key = { key: callKey(callId), callId, events: JSON.stringify(events) };
    const dueAt = joinDueAt({ within }, firstArrival.get(key) as number | null, now);
    insertRun.run(sequence, handler, callId, dueAt);
  };

  const count = (join: JoinOfCall, { callId, eventName, sequence }: EventOfJoin, now: number): void => {
    const { handler } = join;
    const found = select.get(handler, callId) as JoinRow | undefined;
    if (!found) openJoin(join, callId, sequence, now);
    else if (found.seen === null) {
      if (isComplete(join, callId, found.progress)) makeDue.run(now, callId, handler);
    } else if (isLate(join, found, eventName)) {
      countRerun.run(handler, callId);
      insertRun.run(sequence, handler, callId, 0);
    }
  };

  return {
    /** Opens the join for the call, or makes it due if no event is missing, or runs it again for a late event. */
    arrive(arrival: JoinArrival): Settled {
      if (!holdsEvent(arrival)) return 'lost';
      count(arrival, arrival, arrival.now);
      if (arrival.isLast) endClaim(arrival);
      return 'settled';
    },

    /**
     * Stores which events the join sees as its attempt begins. Returns whether an earlier run has seen them all: the
     * join then doesn't run again for an event that came while attempts failed, but may do so for a later one. Returns
     * undefined if the claim on the run is lost.
     */
    noteSeen(run: RunOfJoin, names: readonly string[]): boolean | undefined {
      if (!holdsRun(run)) return undefined;
      const { handler, callId } = run;
      const settled = (select.get(handler, callId) as JoinRow | undefined)?.settled;
      const isSettled = hasSeenAll(settled, names);
      remember.run({ handler, callId, seen: JSON.stringify(names), isSettled: isSettled ? 1 : 0 });
      return isSettled;
    },

    lookBack({ since, after, ...join }: LookBackFrom, now: number): Sequence | undefined {
      const until = after + Math.min(lookSize, Math.ceil(erasAtOnce / eraCount()));
      const { handler, runsAgain } = join;
      const names = JSON.stringify(join.events);
      const range = { after, until, since, handler, events: names, runsAgain: runsAgain ? 1 : 0 };
      for (const event of missed.all(range) as EventOfJoin[]) count(join, event, now);
      return until < ((newest.get() as Sequence | null) ?? 0) ? until : undefined;
    },
  };
}
