import type { Settled } from '../../claims.ts';
import {
  type RunColumns,
  type RunEndRow,
  type RunToWrite,
  columnsOfEnd,
  columnsOfRequeue,
  withFormerReason,
} from '../../shared/run-to-write.ts';
import type { Transaction } from '../connection/transaction.ts';
import { keepFailure } from './failures.ts';
import { dueAsBefore, endClaim, holdsEvent, holdsRun } from './holding.ts';
import { unblockNext } from './unblock.ts';

/** Writes how an attempt ended. */
export async function settle(transaction: Transaction, row: RunEndRow): Promise<Settled> {
  if (!(await holds(transaction, row))) return lost(transaction, row);
  const { state, callId, handler, order, isStored, isLast } = row;
  // Decided inside the transaction: a replay may have requeued an earlier run.
  const mustWait = state.kind === 'due' && order === 'strict' && (await isBehindActive(transaction, row));
  const isRemembered = isStored || !isLast || state.kind !== 'done';
  if (isRemembered && !(await writeRow(transaction, row, columnsOfEnd(row, mustWait))))
    return lost(transaction, row);
  if (row.failure) await keepFailure(transaction, row, row.failure);
  if (isLast) await endClaim(transaction, row);
  // Events that the join's run has seen need no further run.
  if (row.isJoin && state.kind === 'done')
    await transaction.query('update ringback.joins set settled = seen where handler = $1 and call_id = $2', [
      handler,
      callId,
    ]);
  // Whatever the handler's order is here: another process, or this one before a restart, may have blocked the next run.
  if (state.kind === 'done' || state.kind === 'dead') await unblockNext(transaction, callId, handler);
  return 'settled';
}

/** Puts a run that has not begun back into the inbox. */
export async function requeue(transaction: Transaction, row: RunToWrite): Promise<Settled> {
  if (!(await holds(transaction, row))) return lost(transaction, row);
  const mustWait = row.order === 'strict' && (await isBehindActive(transaction, row));
  if (!(await writeRow(transaction, row, columnsOfRequeue(mustWait)))) return lost(transaction, row);
  if (row.isLast) await endClaim(transaction, row);
  return 'settled';
}

/** Counts an attempt before the handler is called. Resolves to the new number, or undefined if the claim is lost. */
export async function countAttempt(transaction: Transaction, row: RunToWrite): Promise<number | undefined> {
  const { process, sequence, handler, callId, isStored, isLast } = row;
  if (isStored) {
    if (!(await holds(transaction, row))) return undefined;
    const [counted] = await transaction.query<{ attempts: number }>(
      `update ringback.runs set attempts = attempts + 1 where sequence = $1 and handler = $2 returning attempts`,
      [sequence, handler],
    );
    return counted?.attempts;
  }
  // A row that this process has claimed is from an earlier try whose success was not reported.
  const [own] = await transaction.query<{ attempts: number }>(
    'select attempts from ringback.runs where sequence = $1 and handler = $2 and claimed_by = $3',
    [sequence, handler, process],
  );
  if (own || !(await holds(transaction, row))) return own?.attempts;
  const inserted = await transaction.query(
    `insert into ringback.runs (sequence, handler, call_id, state, attempts, claimed_by)
     values ($1, $2, $3, 'claimed', 1, $4) on conflict do nothing returning 1`,
    [sequence, handler, callId, process],
  );
  if (isLast) await endClaim(transaction, row);
  // An existing row belongs to another claim; and for a removed event none is written (`require_event`).
  return inserted.length === 0 ? undefined : 1;
}

const holds = (transaction: Transaction, row: RunToWrite): Promise<boolean> =>
  row.isStored ? holdsRun(transaction, row) : holdsEvent(transaction, row);

/** The outcome of a lost write. It still ends the claim on the event, if this was the last run under it. */
async function lost(transaction: Transaction, row: RunToWrite): Promise<Settled> {
  // Does nothing if the claim is gone.
  if (row.isLast) await endClaim(transaction, row);
  return 'lost';
}

/**
 * Whether an earlier run of the same handler and call is open. Runs that are blocked don't count: one that a replay has
 * requeued may be waiting for this very run, and any other waits for one that counts. Locks the run that it finds: a
 * settlement of that run at this moment would not see the run that is about to be blocked, and nothing would ever
 * unblock it.
 */
async function isBehindActive(
  transaction: Transaction,
  { callId, handler, sequence }: RunToWrite,
): Promise<boolean> {
  const found = await transaction.query(
    `select 1 from ringback.runs where call_id = $1 and handler = $2 and sequence < $3
       and state in ('due', 'claimed') limit 1 for share`,
    [callId, handler, sequence],
  );
  return found.length > 0;
}

/**
 * Writes a run's row. Resolves to false if the row of a new run exists, because a commit that overtook this write has
 * written it, or if the event has been removed: see `require_event`.
 */
async function writeRow(transaction: Transaction, row: RunToWrite, as: RunColumns): Promise<boolean> {
  const { sequence, handler, callId, attempts, now, isStored } = row;
  const { state, dueAt, reason, keepsReason, failure, isWaiting } = as;
  const rows = isStored
    ? await transaction.query(updateRun, [
        sequence,
        handler,
        state,
        attempts,
        dueAt,
        reason,
        now,
        isWaiting,
        keepsReason,
        failure,
      ])
    : await transaction.query(insertRun, [
        sequence,
        handler,
        callId,
        state,
        attempts,
        dueAt,
        reason,
        now,
        failure,
      ]);
  return rows.length > 0;
}

const insertRun = `
  insert into ringback.runs (sequence, handler, call_id, state, attempts, due_at, reason, settled_at, failure)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning 1`;

const updateRun = `
  update ringback.runs set state = $3, attempts = $4, claimed_by = null, settled_at = $7,
    due_at = case when $8 then least(${dueAsBefore}, $7) else $5 end,
    reason = case when $8 then reason
      when $9 then ${withFormerReason('$6')}
      else $6 end,
    failure = case when $8 then failure else $10 end
  where sequence = $1 and handler = $2 returning 1`;
