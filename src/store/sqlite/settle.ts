import type Database from 'better-sqlite3';
import type { RunKey, Sequence, Settled } from '../run-key.ts';
import type { RunState, Settlement } from '../store.ts';
import type { DueTime } from './due-time.ts';
import type { Processes } from './processes.ts';

/** The verbs by which an attempt begins and ends. All run inside a transaction of the caller's. */
export function prepareSettling(database: Database.Database, processes: Processes, dueTime: DueTime) {
  const holdsEvent = database.prepare('select 1 from events where sequence = ? and claimed_by = ?');
  const holdsRun = database.prepare(
    'select 1 from runs where sequence = ? and handler = ? and claimed_by = ?',
  );
  const insertRun = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, reason, settled_at)
    values (@sequence, @handler, @callId, @state, @attempts, @dueAt, @reason, @now) on conflict do nothing`);
  const updateRun = database.prepare(`
    update runs set state = @state, attempts = @attempts, due_at = @dueAt, claimed_by = null,
      reason = case when @state = 'blocked' then reason else @reason end,
      settled_at = @now where sequence = @sequence and handler = @handler`);
  const countAttempt = database
    .prepare('update runs set attempts = attempts + 1 where sequence = ? and handler = ? returning attempts')
    .pluck();
  const insertClaimed = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, claimed_by) values (?, ?, ?, 'claimed', 1, ?)
    on conflict do nothing`);
  const ownAttempts = database
    .prepare('select attempts from runs where sequence = ? and handler = ? and claimed_by = ?')
    .pluck();
  const openRuns = `exists (select 1 from runs r where r.sequence = events.sequence and r.state in ('due', 'claimed', 'blocked'))`;
  const endClaim = database.prepare(`
    update events set claimed_by = null, state = case when ${openRuns} then 'open' else 'done' end
    where sequence = ? and claimed_by = ?`);
  const closeEvent = database.prepare(`
    update events set state = 'done' where sequence = ? and state = 'open' and not ${openRuns}`);
  // What the join's run has seen needs no further run.
  const settleJoin = database.prepare('update joins set settled = seen where handler = ? and call_id = ?');
  const earlierOpen = database.prepare(`
    select 1 from runs where call_id = ? and handler = ? and sequence < ? and state in ('due', 'claimed', 'blocked')`);
  const earlierActive = database.prepare(`
    select 1 from runs where call_id = ? and handler = ? and sequence < ? and state in ('due', 'claimed')`);
  // A run that a replay has put back may have a time before which it must not begin.
  const unblock = database.prepare(`
    update runs set state = 'due', due_at = coalesce(due_at, 0) where (sequence, handler) in (
      select sequence, handler from runs where call_id = ? and handler = ? and state = 'blocked'
      order by sequence limit 1)`);

  const holds = ({ sequence, handler, stored }: RunKey): boolean =>
    (stored ? holdsRun.get(sequence, handler, processes.id) : holdsEvent.get(sequence, processes.id)) !==
    undefined;

  /** Whether an earlier run of the same handler and call is still open: what a blocked run waits for. */
  const isBehindAnother = ({ sequence, handler, callId }: RunKey): boolean =>
    callId !== undefined && earlierOpen.get(callId, handler, sequence) !== undefined;

  /** Without those that are blocked themselves: it may be this very run that they wait for. */
  const isBehindActive = ({ sequence, handler, callId }: RunKey): boolean =>
    callId !== undefined && earlierActive.get(callId, handler, sequence) !== undefined;

  /**
   * Decided here and not by the caller: what it saw may have been settled since, and nobody would wake this one;
   * or a replay may have put an earlier run back, which a strict one that failed has to wait for.
   */
  const stateOf = (settlement: Settlement): RunState => {
    const { state, isStrict } = settlement;
    if (state.kind === 'blocked' && !isBehindAnother(settlement)) return { kind: 'due', at: 0, reason: '' };
    if (state.kind === 'due' && isStrict && isBehindActive(settlement)) return { kind: 'blocked' };
    return state;
  };

  /** The claim that the run came with ends all the same, if this was the last run of it. */
  const lost = ({ sequence, last }: Settlement): Settled => {
    if (last) endClaim.run(sequence, processes.id);
    return 'lost';
  };

  return {
    holdsEvent: (sequence: Sequence) => holdsEvent.get(sequence, processes.id) !== undefined,

    begin(run: RunKey): number | undefined {
      if (!holds(run)) return undefined;
      if (run.stored) return countAttempt.get(run.sequence, run.handler) as number;
      insertClaimed.run(run.sequence, run.handler, run.callId ?? null, processes.id);
      // A row that was there is that of a try whose end was not heard of, or is not ours to begin.
      return ownAttempts.get(run.sequence, run.handler, processes.id) as number | undefined;
    },

    settle(settlement: Settlement): Settled {
      const { sequence, handler, callId, state, stored, last } = settlement;
      if (!holds(settlement)) return lost(settlement);
      // The ordinary way: one handler, done at once. The event's own row says all there is to remember.
      const isRemembered = stored || !last || state.kind !== 'done';
      if (isRemembered) {
        const write = stored ? updateRun : insertRun;
        // A row that is there already is that of a commit which overtook this settlement.
        if (write.run(rowOf(settlement, stateOf(settlement), dueTime)).changes === 0) {
          return lost(settlement);
        }
      }
      if (last) endClaim.run(sequence, processes.id);
      closeEvent.run(sequence);
      if (settlement.isJoin && state.kind === 'done') settleJoin.run(handler, callId);
      if (settlement.isStrict && (state.kind === 'done' || state.kind === 'dead'))
        unblock.run(callId ?? null, handler);
      return 'settled';
    },

    /** Ends the claim on an event: it is open while stored runs keep it, done otherwise. */
    endClaim: (sequence: Sequence): void => {
      endClaim.run(sequence, processes.id);
    },
  };
}

function rowOf({ sequence, handler, callId, attempts, now }: Settlement, state: RunState, dueTime: DueTime) {
  return {
    sequence,
    handler,
    callId: callId ?? null,
    attempts,
    now,
    state: state.kind,
    // How long it waits is what was decided; the wall clock may have been set since.
    dueAt: state.kind === 'due' ? (state.at === 0 ? 0 : dueTime.after(state.at - now)) : null,
    reason: state.kind === 'due' || state.kind === 'dead' ? state.reason : null,
  };
}
