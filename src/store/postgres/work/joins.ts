import type { JoinTerms } from '../../../dispatch/handler.ts';
import type { JoinLookBack } from '../../call-store.ts';
import type { Sequence } from '../../event-record.ts';
import type { Settled } from '../../claims.ts';
import { type JoinRow, type Progress, joinDueAt, namesIn, progressOf } from '../../shared/join-progress.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { fromText, toText } from '../connection/text.ts';
import { firstSequenceSince } from '../query/kept-events.ts';
import { endClaim, holdsEvent } from './holding.ts';

/** An event that a join waits for has been claimed. */
export interface JoinArrival extends JoinTerms {
  readonly process: number;
  readonly sequence: Sequence;
  readonly callId: string;
  readonly handler: string;
  readonly eventName: string;
  /** Whether no other run without a row is left, so that the claim on the event ends. */
  readonly isLast: boolean;
  readonly now: number;
}

/** A join of a call, and what it waits for. Its texts are as they came. */
type JoinOfCall = Pick<JoinLookBack, 'handler' | 'events' | 'within' | 'runsAgain'> & {
  readonly callId: string;
  /** The event that has arrived. */
  readonly eventName: string;
};

/** How many events one look back goes through. */
const lookSize = 500;

/** Opens the join for the call; or makes it due if no event is missing; or runs it again for a late event. */
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
  } else if (
    join.runsAgain &&
    found.reruns === 0 &&
    !namesIn(fromText(found.seen)).includes(join.eventName)
  ) {
    await transaction.query(
      'update ringback.joins set reruns = reruns + 1 where handler = $1 and call_id = $2',
      keyOf(join),
    );
    await insertRun(transaction, join, sequence, 0);
  }
  return true;
}

/**
 * Remembers which events the join sees as its attempt begins. They are read once the join is locked: one that was counted in
 * between would be neither seen nor late. Resolves to whether an earlier run has seen them all: then the join does not run
 * again for the event that came while attempts failed, and may still do so for another.
 */
export async function noteSeen(
  transaction: Transaction,
  join: { readonly handler: string; readonly callId: string },
  read: () => Promise<readonly string[]>,
): Promise<boolean> {
  const settled = (await lockedJoin(transaction, join))?.settled;
  const names = await read();
  const isSettled =
    typeof settled === 'string' && names.every((name) => namesIn(fromText(settled)).includes(name));
  await transaction.query(
    `update ringback.joins set seen = $3, reruns = case when $4 then 0 else reruns end where handler = $1 and call_id = $2`,
    [...keyOf(join), toText(JSON.stringify(names)), isSettled],
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
      toText(join.handler),
      join.events.map(toText),
      join.runsAgain,
      toText(JSON.stringify(join.events)),
    ]);
    for (const { call_id: callId, event_name: eventName, sequence } of missed)
      await count(
        transaction,
        { ...join, callId: fromText(callId), eventName: fromText(eventName) },
        sequence,
        now,
      );
    return looked.length < lookSize ? undefined : until;
  });
}

interface MissedRow {
  readonly call_id: string;
  readonly event_name: string;
  readonly sequence: number;
}

/**
 * An event that another process has claimed counts as missed: the join may not be registered there. If the call has the join,
 * one may have come when the join wasn't registered: after the last one that was counted, and not seen since. All are counted
 * anew if the join waits for other events than it did: it may be complete now. "offset 0" keeps the planner from reading all joins in
 * each look, as it does when it has no statistics of them yet.
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
 * The join of a call, which nobody else changes until the transaction ends: two processes may have events of the call that
 * arrive at the same moment, and one of them must see the other's.
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
 * Resolves to false if the event has been removed. It stays until the transaction ends: without its run, the row of the join
 * would keep any other from being opened for the call.
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

/** When a join no longer waits for the events that are missing. */
async function timeOut(transaction: Transaction, join: JoinOfCall, now: number): Promise<number> {
  const { first } = await oneRow<{ first: number | null }>(
    transaction,
    'select min(received_at) as first from ringback.events where call_id = $1 and event_name = any ($2)',
    [toText(join.callId), join.events.map(toText)],
  );
  return joinDueAt(join, first, now);
}

/** Whether no event of the join is missing. What was looked at is remembered, and never read again. */
async function isComplete(
  transaction: Transaction,
  join: Pick<JoinOfCall, 'handler' | 'callId' | 'events' | 'eventName'>,
  progress: string | null,
): Promise<boolean> {
  const before = progressOf(progress === null ? null : fromText(progress), join.events);
  if (before.missing.length === 0) return true;
  const { sequence } = await oneRow<{ sequence: number | null }>(
    transaction,
    'select max(sequence) as sequence from ringback.events where call_id = $1',
    [toText(join.callId)],
  );
  const found = await transaction.query<{ event_name: string }>(
    `select distinct event_name from ringback.events where call_id = $1 and sequence > $2 and event_name = any ($3)`,
    [toText(join.callId), before.until, before.missing.map(toText)],
  );
  const names = new Set(found.map(({ event_name: name }) => fromText(name)));
  // One that was committed after a later one is not among those since the last look, but it arrives by itself.
  const missing = before.missing.filter((name) => name !== join.eventName && !names.has(name));
  const now: Progress = { events: join.events, missing, until: sequence ?? 0 };
  await transaction.query('update ringback.joins set progress = $3 where handler = $1 and call_id = $2', [
    ...keyOf(join),
    toText(JSON.stringify(now)),
  ]);
  return missing.length === 0;
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

const keyOf = ({ handler, callId }: Pick<JoinOfCall, 'handler' | 'callId'>): string[] => [
  toText(handler),
  toText(callId),
];
