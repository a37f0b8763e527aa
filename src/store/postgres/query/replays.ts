import {
  type ReplayCandidate,
  type ReplayStep,
  type ReplayWrite,
  type ReplayedRuns,
  joinKey,
} from '../../event-store.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';
import { toText, toTextOrNull } from '../connection/text.ts';
import { lockedJoin } from '../work/joins.ts';
import { isNewEvent } from './event-state.ts';

/** How a run that is requeued waits. */
interface Waiting {
  readonly state: 'due' | 'blocked';
  readonly dueAt: number;
}

const isOpen = "state in ('due', 'claimed', 'blocked')";

export async function replayed(session: Session, replay: number): Promise<ReplayedRuns> {
  const [row] = await session.query<ReplayedRuns>(
    `select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'dead') as dead,
       count(*) filter (where ${isOpen}) as open from ringback.runs where replay = $1`,
    [replay],
  );
  return row ?? { done: 0, dead: 0, open: 0 };
}

export async function wouldRequeue(transaction: Transaction, step: ReplayStep): Promise<ReplayCandidate[]> {
  const wanted: ReplayCandidate[] = [];
  await decide(transaction, step, async (candidate) => {
    if (candidate.isJoin && (await hasOpenRun(transaction, candidate, ''))) return false;
    wanted.push(candidate);
    return true;
  });
  return wanted;
}

/** Puts settled runs back, as their order requires. */
export async function requeue(
  transaction: Transaction,
  step: ReplayWrite,
  now: number,
): Promise<ReplayCandidate[]> {
  const done: ReplayCandidate[] = [];
  const { replay, spread, onlyDead } = step;
  // One replay at a time: two of them could each find that nothing of a call is open, and both make a run of it due.
  await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.replays', 0))");
  await decide(transaction, step, async (candidate) => {
    if (candidate.isJoin && !(await isJoinFree(transaction, candidate))) return false;
    const dueAt = spread === undefined ? 0 : Math.round(now + spread.delay + done.length * spread.gap);
    const waiting = await waitingOf(transaction, candidate, dueAt);
    if (!(await put(transaction, candidate, waiting, { replay, onlyDead }))) return false;
    done.push(candidate);
    return true;
  });
  const events = new Set(done.map(({ sequence }) => sequence)).size;
  await transaction.query('update ringback.audit set events = events + $2, runs = runs + $3 where id = $1', [
    replay,
    events,
    done.length,
  ]);
  return done;
}

/**
 * Decides on the candidates one by one, so that a join is requeued only once for each call. `take` resolves to whether it has
 * taken the candidate.
 */
async function decide(
  transaction: Transaction,
  { candidates, onlyDead, joins }: ReplayStep,
  take: (candidate: ReplayCandidate) => Promise<boolean>,
): Promise<void> {
  const decided = new Set(joins);
  for (const candidate of candidates) {
    if (candidate.isJoin && decided.has(joinKey(candidate))) continue;
    if (!(await isSettled(transaction, candidate, onlyDead)) || !(await take(candidate))) continue;
    if (candidate.isJoin) decided.add(joinKey(candidate));
  }
}

/** If a run of a new event has no row, it is in memory or has yet to begin, so it is open. */
async function isSettled(
  transaction: Transaction,
  { sequence, handler }: ReplayCandidate,
  onlyDead: boolean,
): Promise<boolean> {
  const [found] = await transaction.query<{ is_new: boolean; run: string | null }>(
    `select ${isNewEvent} as is_new, r.state as run
     from ringback.events e left join ringback.runs r on r.sequence = e.sequence and r.handler = $2
     where e.sequence = $1`,
    [sequence, toText(handler)],
  );
  if (!found) return false;
  if (onlyDead) return found.run === 'dead';
  return found.run === null ? !found.is_new : found.run === 'done' || found.run === 'dead';
}

/**
 * Whether a run of the candidate's handler and call is open. With `for share` it stays so until the transaction ends: what is
 * put behind a run must be there when that run's settlement looks for the next one.
 */
async function hasOpenRun(
  transaction: Transaction,
  candidate: ReplayCandidate,
  lock: '' | 'for share',
): Promise<boolean> {
  const found = await transaction.query(
    `select 1 from ringback.runs where call_id = $1 and handler = $2 and ${isOpen} limit 1 ${lock}`,
    callOf(candidate),
  );
  return found.length > 0;
}

/** Whether the join has no open run. None is opened by an event that arrives until the transaction ends. */
async function isJoinFree(transaction: Transaction, candidate: ReplayCandidate): Promise<boolean> {
  const { handler, callId = '' } = candidate;
  await lockedJoin(transaction, { handler, callId });
  return !(await hasOpenRun(transaction, candidate, 'for share'));
}

/**
 * How the run waits, as its order requires: with order `call`, it is due between its neighbours in order of arrival, among the
 * runs of its call that have not begun.
 */
async function waitingOf(
  transaction: Transaction,
  candidate: ReplayCandidate,
  dueAt: number,
): Promise<Waiting> {
  const { order, callId, isJoin } = candidate;
  if (callId === undefined || isJoin || order === 'none') return { state: 'due', dueAt };
  if (order === 'strict')
    return { state: (await hasOpenRun(transaction, candidate, 'for share')) ? 'blocked' : 'due', dueAt };
  const before = await unbegun(transaction, candidate, 'before');
  const wanted = Math.max(dueAt, before ?? dueAt);
  // Nothing can be due before a run that is due at once.
  if (wanted === 0) return { state: 'due', dueAt: 0 };
  return {
    state: 'due',
    dueAt: Math.min(wanted, (await unbegun(transaction, candidate, 'after')) ?? Infinity),
  };
}

/**
 * When the nearest run of the call and handler is due that has not begun: these are due in the order of their arrival, so the
 * nearest one on either side decides.
 */
async function unbegun(
  transaction: Transaction,
  candidate: ReplayCandidate,
  side: 'before' | 'after',
): Promise<number | undefined> {
  const [condition, direction] = side === 'before' ? ['<', 'desc'] : ['>', 'asc'];
  const [row] = await transaction.query<{ due_at: number }>(
    `select due_at from ringback.runs where call_id = $1 and handler = $2 and sequence ${condition} $3
       and ${isOpen} and state = 'due' and attempts = 0 order by sequence ${direction} limit 1`,
    [...callOf(candidate), candidate.sequence],
  );
  return row?.due_at;
}

/** Resolves to whether the run was still settled, and is put back. */
async function put(
  transaction: Transaction,
  candidate: ReplayCandidate,
  { state, dueAt }: Waiting,
  { replay, onlyDead }: Pick<ReplayWrite, 'replay' | 'onlyDead'>,
): Promise<boolean> {
  const { sequence, isJoin } = candidate;
  const [callId, handler] = callOf(candidate);
  // The reason stays until the run is settled: a person sees why it was run again.
  const found = await transaction.query(
    `insert into ringback.runs as r (sequence, handler, call_id, state, attempts, due_at, replay)
     values ($1, $2, $3, $4, 0, $5, $6)
     on conflict (sequence, handler) do update set
       state = excluded.state, attempts = 0, due_at = excluded.due_at, settled_at = null, replay = excluded.replay
     where r.state = 'dead' or r.state = 'done' and not $7
     returning 1`,
    [sequence, handler, callId, state, dueAt, replay, onlyDead],
  );
  if (found.length === 0) return false;
  // A person may have given the process more memory: the event may be read again as often as before.
  await transaction.query('update ringback.crash_counts set reading_crashes = 0 where sequence = $1', [
    sequence,
  ]);
  // The join starts anew, as if it had never run: its handler sees the call again, and once more if an event comes late.
  if (isJoin)
    await transaction.query(
      `insert into ringback.joins (call_id, handler) values ($1, $2)
       on conflict (handler, call_id) do update set seen = null, settled = null, reruns = 0`,
      [callId, handler],
    );
  return true;
}

function callOf({ callId, handler }: ReplayCandidate): [string | null, string] {
  return [toTextOrNull(callId), toText(handler)];
}
