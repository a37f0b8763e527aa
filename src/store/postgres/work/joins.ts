import type { JoinLookBack } from '../../call-store.ts';
import type { Sequence } from '../../event-record.ts';
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
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { firstSequenceSince } from '../query/kept-events.ts';
import { endClaim, holdsEvent } from './holding.ts';

/** A join of a call, and what it waits for. */
type JoinOfCall = Pick<JoinLookBack, 'handler' | 'events' | 'within' | 'runsAgain'> & {
  readonly callId: string;
  /** The event that has arrived. */
  readonly eventName: string;
};

/** How many events one look back goes through. */
const lookSize = 500;

/** Opens the join for the call, or makes it due if no event is missing, or runs it again for a late event. */
export async function arrive(transaction: Transaction, arrival: JoinArrival): Promise<Settled> {
  const { sequence, isLast, now } = arrival;
  if (!(await holdsEvent(transaction, arrival))) return 'lost';
  if (!(await count(transaction, arrival, sequence, now))) return 'lost';
  if (isLast) await endClaim(transaction, arrival);
  return 'settled';
}

/** Resolves to false if the event has been removed. */
async function count(
  transaction: Transaction,
  join: JoinOfCall,
  sequence: Sequence,
  now: number,
): Promise<boolean> {
  const found = await lockedJoin(transaction, join);
  if (!found) return openJoin(transaction, join, sequence, now);
  if (found.seen === null) {
    if (await isComplete(transaction, join, found.progress)) await makeDue(transaction, join, now);
  } else if (isLate(join, found, join.eventName)) {
    await transaction.query(
      'update ringback.joins set reruns = reruns + 1 where handler = $1 and call_id = $2',
      keyOf(join),
    );
    await insertRun(transaction, join, sequence, 0);
  }
  return true;
}

/**
 * Stores which events the join sees as its attempt begins. They are read only once the join is locked, because an event
 * counted in between would be neither seen nor late. Resolves to whether an earlier run has seen them all: the join
 * then doesn't run again for an event that came while attempts failed, but may do so for a later one.
 */
export async function noteSeen(
  transaction: Transaction,
  join: { readonly handler: string; readonly callId: string },
  read: () => Promise<readonly string[]>,
): Promise<boolean> {
  const settled = (await lockedJoin(transaction, join))?.settled;
  const names = await read();
  const isSettled = hasSeenAll(settled, names);
  await transaction.query(
    `update ringback.joins set seen = $3, reruns = case when $4 then 0 else reruns end where handler = $1 and call_id = $2`,
    [...keyOf(join), JSON.stringify(names), isSettled],
  );
  return isSettled;
}

/** Counts events that were claimed where the join wasn't registered. Resolves to where the next look begins. */
export async function lookBack(
  session: Session,
  { since, after: lookedUpTo, ...join }: JoinLookBack,
  now: number,
): Promise<Sequence | undefined> {
  const first = lookedUpTo === undefined ? await firstSequenceSince(session, since) : lookedUpTo + 1;
  if (first === undefined) return undefined;
  const after = first - 1;
  return session.write(async (transaction) => {
    const looked = await transaction.query<{ sequence: number }>(
      'select sequence from ringback.events where sequence > $1 order by sequence limit $2',
      [after, lookSize],
    );
    const until = looked.at(-1)?.sequence;
    if (until === undefined) return undefined;
    const missed = await transaction.query<MissedRow>(missedEvents, [
      after,
      until,
      since,
      join.handler,
      join.events,
      join.runsAgain,
      JSON.stringify(join.events),
    ]);
    for (const { call_id: callId, event_name: eventName, sequence } of missed)
      await count(transaction, { ...join, callId, eventName }, sequence, now);
    return looked.length < lookSize ? undefined : until;
  });
}

interface MissedRow {
  readonly call_id: string;
  readonly event_name: string;
  readonly sequence: number;
}

/**
 * An event that another process has claimed counts as missed: the join may not be registered there. If the call already
 * has the join, an event is missed if it came after the last one counted, and no run has seen it. If the join now waits
 * for other events than before, all are counted anew: it may be complete. "offset 0" keeps the planner, while it has no
 * statistics, from reading all joins in each look.
 */
const missedEvents = `
  select call_id, event_name, min(sequence) as sequence from ringback.events e
  where sequence > $1 and sequence <= $2 and received_at >= $3 and call_id is not null and event_name = any ($5)
    and not exists (select from ringback.waiting w where w.sequence = e.sequence)
    and not exists (select from ringback.joins j where j.handler = $4 and j.call_id = e.call_id and (
      (e.sequence <= (j.progress::json ->> 'until')::bigint
        and (j.seen is not null or (j.progress::json -> 'events')::text = $7))
      or (j.seen is not null and (not $6 or j.reruns > 0 or strpos(j.seen, '"' || e.event_name || '"') > 0)))
      offset 0)
  group by call_id, event_name order by 3`;

/**
 * Returns the join of a call, locked until the transaction ends: if two processes count events of the call at the same
 * moment, one of them must see the other's.
 */
export async function lockedJoin(
  transaction: Transaction,
  join: Pick<JoinOfCall, 'handler' | 'callId'>,
): Promise<JoinRow | undefined> {
  const key = keyOf(join);
  await transaction.query(
    "select pg_advisory_xact_lock(hashtextextended('ringback.joins' || $1, hashtext($2)))",
    key,
  );
  const [row] = await transaction.query<JoinRow>(
    'select seen, settled, reruns, progress from ringback.joins where handler = $1 and call_id = $2',
    key,
  );
  return row;
}

/**
 * Resolves to false if the event has been removed. The event is locked until the transaction ends: a join without a run
 * would wait for ever, because its row keeps another from being opened for the call.
 */
async function openJoin(
  transaction: Transaction,
  join: JoinOfCall,
  sequence: Sequence,
  now: number,
): Promise<boolean> {
  const events = await transaction.query('select from ringback.events where sequence = $1 for key share', [
    sequence,
  ]);
  if (events.length === 0) return false;
  await transaction.query('insert into ringback.joins (handler, call_id) values ($1, $2)', keyOf(join));
  const dueAt = (await isComplete(transaction, join, null)) ? 0 : await timeOut(transaction, join, now);
  await insertRun(transaction, join, sequence, dueAt);
  return true;
}

/** When a join stops waiting for missing events. */
async function timeOut(transaction: Transaction, join: JoinOfCall, now: number): Promise<number> {
  const { first } = await oneRow<{ first: number | null }>(
    transaction,
    'select min(received_at) as first from ringback.events where call_id = $1 and event_name = any ($2)',
    [join.callId, join.events],
  );
  return joinDueAt(join, first, now);
}

/** Whether no event of the join is missing. Stores the progress, so that no event is read twice. */
async function isComplete(
  transaction: Transaction,
  join: Pick<JoinOfCall, 'handler' | 'callId' | 'events' | 'eventName'>,
  progress: string | null,
): Promise<boolean> {
  const before = progressOf(progress, join.events);
  if (before.missing.length === 0) return true;
  const { sequence } = await oneRow<{ sequence: number | null }>(
    transaction,
    'select max(sequence) as sequence from ringback.events where call_id = $1',
    [join.callId],
  );
  const found = await transaction.query<{ event_name: string }>(
    `select distinct event_name from ringback.events where call_id = $1 and sequence > $2 and event_name = any ($3)`,
    [join.callId, before.until, before.missing],
  );
  // An event may be committed after one with a higher sequence, and be missed by this query; but its own arrival counts
  // it.
  const names = new Set([join.eventName, ...found.map(({ event_name: name }) => name)]);
  const now = progressAfter(before, names, sequence ?? 0);
  await transaction.query('update ringback.joins set progress = $3 where handler = $1 and call_id = $2', [
    ...keyOf(join),
    JSON.stringify(now),
  ]);
  return now.missing.length === 0;
}

async function insertRun(
  transaction: Transaction,
  join: Pick<JoinOfCall, 'handler' | 'callId'>,
  sequence: Sequence,
  dueAt: number,
): Promise<void> {
  await transaction.query(
    `insert into ringback.runs (handler, call_id, sequence, state, attempts, due_at) values ($1, $2, $3, 'due', 0, $4)
     on conflict do nothing`,
    [...keyOf(join), sequence, dueAt],
  );
}

async function makeDue(
  transaction: Transaction,
  join: Pick<JoinOfCall, 'handler' | 'callId'>,
  now: number,
): Promise<void> {
  await transaction.query(
    `update ringback.runs set due_at = least(due_at, $3)
     where handler = $1 and call_id = $2 and state = 'due' and attempts = 0`,
    [...keyOf(join), now],
  );
}

const keyOf = ({ handler, callId }: Pick<JoinOfCall, 'handler' | 'callId'>): string[] => [handler, callId];
