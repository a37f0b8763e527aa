import {
  type ReplayCandidate,
  type ReplayQuestion,
  type ReplayWrite,
  type ReplayedRuns,
  joinKey,
} from '../../event-store.ts';
import { mayRequeue } from '../../shared/changed-runs.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { lockReplaysAndRemovals } from '../admin/removal.ts';
import { lockedJoin } from '../work/joins.ts';
import { addToEntry, advance } from './postgres-audit.ts';
import { isNewEvent, isOpen } from './event-state.ts';

export function replayed(session: Session, replay: number): Promise<ReplayedRuns> {
  return oneRow(
    session,
    `select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'dead') as dead,
       count(*) filter (where ${isOpen}) as open from ringback.runs where replay = $1`,
    [replay],
  );
}

export async function wouldRequeue(
  transaction: Transaction,
  { candidates, onlyDead, joins }: ReplayQuestion,
): Promise<ReplayCandidate[]> {
  const wanted: ReplayCandidate[] = [];
  const decided = new Set(joins);
  for (const candidate of candidates) {
    const { isJoin } = candidate;
    if (isJoin && decided.has(joinKey(candidate))) continue;
    if (!(await isSettled(transaction, candidate, onlyDead))) continue;
    if (isJoin && (await hasOpenRun(transaction, candidate, ''))) continue;
    if (isJoin) decided.add(joinKey(candidate));
    wanted.push(candidate);
  }
  return wanted;
}

/** See `EventStore.requeue`. */
export async function requeue(
  transaction: Transaction,
  { candidates, onlyDead, step }: ReplayWrite,
): Promise<ReplayCandidate[] | undefined> {
  // One replay at a time: two could each find no open run of a call, and both make one due.
  await lockReplaysAndRemovals(transaction);
  if (!(await advance(transaction, step))) return undefined;
  const done: ReplayCandidate[] = [];
  for (const candidate of candidates) {
    if (!(await isSettled(transaction, candidate, onlyDead))) continue;
    if (candidate.isJoin && !(await isJoinFree(transaction, candidate, step.id))) continue;
    const state = await stateOf(transaction, candidate);
    if (await put(transaction, candidate, state, { replay: step.id, onlyDead })) done.push(candidate);
  }
  await addToEntry(transaction, step.id, done);
  return done;
}

async function isSettled(
  transaction: Transaction,
  { sequence, handler }: ReplayCandidate,
  onlyDead: boolean,
): Promise<boolean> {
  const [found] = await transaction.query<{ isNew: boolean; run: string | null }>(
    `select ${isNewEvent} as "isNew", r.state as run
     from ringback.events e left join ringback.runs r on r.sequence = e.sequence and r.handler = $2
     where e.sequence = $1`,
    [sequence, handler],
  );
  return found !== undefined && mayRequeue(found, onlyDead);
}

/**
 * Whether a run of the candidate's handler and call is open. With `for share` it stays open until the transaction ends,
 * so that its settlement sees a run that is blocked behind it.
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

/**
 * Whether the join has no open run, and none that this replay has requeued before: a join runs once for each call.
 * Until the transaction ends, no event that arrives can open one.
 */
async function isJoinFree(
  transaction: Transaction,
  candidate: ReplayCandidate,
  replay: number,
): Promise<boolean> {
  const { handler, callId = '' } = candidate;
  await lockedJoin(transaction, { handler, callId });
  const before = await transaction.query(
    'select 1 from ringback.joins where call_id = $1 and handler = $2 and replay = $3',
    [...callOf(candidate), replay],
  );
  return before.length === 0 && !(await hasOpenRun(transaction, candidate, 'for share'));
}

/** With order `strict`, the run waits for open ones of its call. */
async function stateOf(transaction: Transaction, candidate: ReplayCandidate): Promise<'due' | 'blocked'> {
  const { order, callId, isJoin } = candidate;
  if (callId === undefined || isJoin || order !== 'strict') return 'due';
  return (await hasOpenRun(transaction, candidate, 'for share')) ? 'blocked' : 'due';
}

/** Requeues the run if it is still settled. Resolves to whether it was. */
async function put(
  transaction: Transaction,
  candidate: ReplayCandidate,
  state: 'due' | 'blocked',
  { replay, onlyDead }: { readonly replay: number; readonly onlyDead: boolean },
): Promise<boolean> {
  const { sequence, isJoin } = candidate;
  const [callId, handler] = callOf(candidate);
  // Keeps the reason until the run is settled: it shows a person why the run is tried again.
  const found = await transaction.query(
    `insert into ringback.runs as r (sequence, handler, call_id, state, attempts, due_at, replay)
     values ($1, $2, $3, $4, 0, 0, $5)
     on conflict (sequence, handler) do update set
       state = excluded.state, attempts = 0, due_at = excluded.due_at, settled_at = null, replay = excluded.replay
     where r.state = 'dead' or r.state = 'done' and not $6
     returning 1`,
    [sequence, handler, callId, state, replay, onlyDead],
  );
  if (found.length === 0) return false;
  // Reading may be tried as often as before: a person may have given the process more memory.
  await transaction.query('update ringback.crash_counts set reading_crashes = 0 where sequence = $1', [
    sequence,
  ]);
  // The join starts anew, as if it had never run, and runs again for a late event.
  if (isJoin)
    await transaction.query(
      `insert into ringback.joins (call_id, handler, replay) values ($1, $2, $3)
       on conflict (handler, call_id) do update
       set seen = null, settled = null, reruns = 0, replay = excluded.replay`,
      [callId, handler, replay],
    );
  return true;
}

function callOf({ callId, handler }: ReplayCandidate): [string | null, string] {
  return [callId ?? null, handler];
}
