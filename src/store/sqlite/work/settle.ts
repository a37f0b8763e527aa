import type Database from 'better-sqlite3';
import {
  type ClaimToRead,
  type RunColumns,
  type RunEndRow,
  type RunToWrite,
  columnsOfEnd,
  columnsOfRequeue,
  withFormerReason,
} from '../../shared/run-to-write.ts';
import type { Settled } from '../../claims.ts';
import type { ClaimOnEvent, ClaimOnRun } from '../../shared/claimed-work.ts';
import { prepareFailures } from './failures.ts';
import { byCall, isOpen } from './open-runs.ts';
import { prepareUnblockNext } from './unblock.ts';

/** The functions by which an attempt begins and ends. All run inside the caller's transaction. */
export function prepareSettling(database: Database.Database) {
  const claimOnEvent = database.prepare('select 1 from claims where sequence = ? and process = ?');
  const claimOnRun = database.prepare(
    'select 1 from runs where sequence = ? and handler = ? and claimed_by = ?',
  );
  const anyRun = database.prepare('select 1 from runs where sequence = ? and handler = ?');
  const insertRun = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, reason, settled_at, failure)
    values (@sequence, @handler, @callId, @state, @attempts, @dueAt, @reason, @now, @failure) on conflict do nothing`);
  const updateRun = database.prepare(`
    update runs set state = @state, attempts = @attempts, claimed_by = null,
      due_at = case when @isWaiting then min(coalesce(due_at, 0), @now) else @dueAt end,
      reason = case when @isWaiting then reason when @keepsReason then ${withFormerReason('@reason')} else @reason end,
      failure = case when @isWaiting then failure else @failure end,
      settled_at = @now where sequence = @sequence and handler = @handler`);
  const addAttempt = database
    .prepare('update runs set attempts = attempts + 1 where sequence = ? and handler = ? returning attempts')
    .pluck();
  const insertClaimed = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, claimed_by) values (?, ?, ?, 'claimed', 1, ?)
    on conflict do nothing`);
  const ownAttempts = database
    .prepare('select attempts from runs where sequence = ? and handler = ? and claimed_by = ?')
    .pluck();
  const beginReading = database.prepare(
    'update crash_counts set tried_by = ?, being_read = 1 where sequence = ?',
  );
  // A run of the event may be in its handler while the event is read for the others.
  const endReading = database.prepare(`
    update crash_counts set being_read = 0, tried_by = case when @isForAttempt
      or exists (select 1 from runs r where r.sequence = @sequence and claimed_by = @process) then tried_by end
    where sequence = @sequence and tried_by = @process`);
  const endClaim = database.prepare('delete from claims where sequence = ? and process = ?');
  const countClaims = database
    .prepare('select count(*) from claims where sequence between ? and ? and process = ?')
    .pluck();
  const endRange = database.prepare('delete from claims where sequence between ? and ? and process = ?');
  // Events that the join's run has seen need no further run.
  const settleJoin = database.prepare('update joins set settled = seen where handler = ? and call_id = ?');
  const earlierActive = database.prepare(`
    select 1 from runs ${byCall} where call_id = ? and handler = ? and sequence < ? and ${isOpen}
      and state <> 'blocked'`);
  const failures = prepareFailures(database);
  const unblockNext = prepareUnblockNext(database);

  const holdsEvent = ({ sequence, process }: ClaimOnEvent): boolean =>
    claimOnEvent.get(sequence, process) !== undefined;
  const holdsRun = ({ sequence, handler, process }: ClaimOnRun): boolean =>
    claimOnRun.get(sequence, handler, process) !== undefined;
  const holds = (row: RunToWrite): boolean => (row.isStored ? holdsRun(row) : holdsEvent(row));

  /** Ends the claim on an event, if it still holds. */
  const endOne = ({ sequence, process }: ClaimOnEvent): boolean =>
    endClaim.run(sequence, process).changes === 1;

  /**
   * Whether an earlier run of the same handler and call is open. Runs that are blocked don't count: one that a replay
   * has requeued may be waiting for this very run, and any other waits for one that counts.
   */
  const isBehindActive = ({ sequence, handler, callId }: RunToWrite): boolean =>
    callId !== null && earlierActive.get(callId, handler, sequence) !== undefined;

  /** The outcome of a lost write. It still ends the claim on the event, if this was the last run under it. */
  const lost = (row: RunToWrite): Settled => {
    if (row.isLast) endOne(row);
    return 'lost';
  };

  /** Writes a run's row. False if the row of a new run exists: a commit that overtook this write has written it. */
  const writeRow = (row: RunToWrite, { keepsReason, isWaiting, ...as }: RunColumns): boolean => {
    const flags = { keepsReason: Number(keepsReason), isWaiting: Number(isWaiting) };
    return (row.isStored ? updateRun : insertRun).run({ ...row, ...as, ...flags }).changes > 0;
  };

  return {
    holdsEvent,
    holdsRun,

    /** Whether a run that this process held has not been settled. */
    isUnsettled: (run: RunToWrite): boolean =>
      holds(run) && (run.isStored || anyRun.get(run.sequence, run.handler) === undefined),

    beginReading({ process, sequence, handler }: ClaimToRead): boolean {
      const event = { process, sequence };
      const isHeld = handler === undefined ? holdsEvent(event) : holdsRun({ ...event, handler });
      if (isHeld) beginReading.run(process, sequence);
      return isHeld;
    },

    endReading: ({ sequence, process, isForAttempt }: ClaimToRead): void =>
      void endReading.run({ sequence, process, isForAttempt: Number(isForAttempt) }),

    countAttempt(run: RunToWrite): number | undefined {
      const { sequence, handler, callId, isLast, process } = run;
      if (run.isStored) return holds(run) ? (addAttempt.get(sequence, handler) as number) : undefined;
      // A row that this process has claimed is from an earlier try whose success was not reported.
      const counted = ownAttempts.get(sequence, handler, process) as number | undefined;
      if (counted !== undefined || !holds(run)) return counted;
      const { changes } = insertClaimed.run(sequence, handler, callId, process);
      if (isLast) endOne(run);
      // An existing row belongs to another claim.
      return changes === 0 ? undefined : 1;
    },

    settle(row: RunEndRow): Settled {
      const { handler, callId, order, state, isLast } = row;
      if (!holds(row)) return lost(row);
      // Decided inside the transaction: a replay may have requeued an earlier run.
      const mustWait = state.kind === 'due' && order === 'strict' && isBehindActive(row);
      const isRemembered = row.isStored || !isLast || state.kind !== 'done';
      if (isRemembered && !writeRow(row, columnsOfEnd(row, mustWait))) return lost(row);
      if (row.failure) failures.keep(row, row.failure);
      if (isLast) endOne(row);
      if (row.isJoin && state.kind === 'done') settleJoin.run(handler, callId);
      // Whatever the handler's order is here: another process, or this one before a restart, may have blocked the next
      // run.
      if (state.kind === 'done' || state.kind === 'dead') unblockNext(callId, handler);
      return 'settled';
    },

    requeue(row: RunToWrite): Settled {
      const mustWait = row.order === 'strict' && isBehindActive(row);
      if (!holds(row) || !writeRow(row, columnsOfRequeue(mustWait))) return lost(row);
      if (row.isLast) endOne(row);
      return 'settled';
    },

    endClaim: endOne,

    /**
     * Ends the claims on events, and returns for each whether it still held. Events mostly end in the order of arrival,
     * so whole ranges of sequences are ended at once.
     */
    endClaims(claims: readonly ClaimOnEvent[]): boolean[] {
      const held: boolean[] = [];
      for (const range of rangesOf(claims)) {
        const [first, ...others] = range;
        const { sequence: last } = range.at(-1) ?? first;
        const ends = [first.sequence, last, first.process];
        const isHeld = others.length > 0 && countClaims.get(ends) === range.length;
        if (isHeld) endRange.run(ends);
        for (const claim of range) held.push(isHeld || endOne(claim));
      }
      return held;
    },
  };
}

/** Groups the claims of one process on events that directly follow each other. */
function rangesOf(claims: readonly ClaimOnEvent[]): [ClaimOnEvent, ...ClaimOnEvent[]][] {
  const ranges: [ClaimOnEvent, ...ClaimOnEvent[]][] = [];
  for (const claim of claims) {
    const range = ranges.at(-1);
    const last = range?.at(-1);
    if (range && last?.sequence === claim.sequence - 1 && last.process === claim.process) range.push(claim);
    else ranges.push([claim]);
  }
  return ranges;
}
