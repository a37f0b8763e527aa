import { claimOf, claimerOf, isStored } from '../../shared/claimed-work.ts';
import { type EndToWrite, type RunToWrite, endToWrite } from '../../shared/run-to-write.ts';
import type { ClaimedEvent, ClaimedRun } from '../../claims.ts';
import type { RunEnd } from '../../store.ts';

/** A run to write, and the process that has claimed it. */
export interface RunRow extends RunToWrite {
  readonly process: number;
  readonly callId: string | null;
}

export interface SettlementRow extends RunRow, EndToWrite {}

export function runRow(run: ClaimedRun, isLast: boolean, now: number): RunRow {
  const { sequence, callId, handler, attempts } = run;
  const { order, join } = claimOf(run).handler;
  const isJoin = join !== undefined;
  return {
    process: requiredClaimerOf(run),
    sequence,
    callId: callId ?? null,
    handler,
    order,
    isJoin,
    isStored: isStored(run),
    isLast,
    attempts,
    now,
  };
}

export function settlementRow(
  run: ClaimedRun,
  end: RunEnd,
  { isLast, now }: { readonly isLast: boolean; readonly now: number },
): SettlementRow {
  return { ...runRow(run, isLast, end.decidedAt), attempts: end.attempts, ...endToWrite(end, now) };
}

/** The id of the process as it claimed the event or run. */
export function requiredClaimerOf(claimed: ClaimedEvent | ClaimedRun): number {
  const claimer = claimerOf(claimed);
  if (claimer === undefined) throw new Error('Nobody has claimed it.');
  return claimer;
}

/**
 * SQL: the due time of a run that is given back: what it was, but not later than now, because the clock of the machine
 * that claimed it may be fast, or have been set back since. A run stored by `countAttempt` has none.
 */
export const dueAsBefore =
  'least(coalesce(due_at, 0), floor(extract(epoch from clock_timestamp()) * 1000)::bigint)';
