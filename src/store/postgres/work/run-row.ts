import { claimerOf } from '../../shared/claimed-work.ts';
import { type RunEndRow, type RunToWrite, runEndRow, runToWrite } from '../../shared/run-to-write.ts';
import type { ClaimedEvent, ClaimedRun } from '../../claims.ts';
import type { RunEnd } from '../../store.ts';

/** A run to write, and the process that has claimed it. */
export interface RunRow extends RunToWrite {
  readonly process: number;
}

export type SettlementRow = RunRow & RunEndRow;

export function runRow(run: ClaimedRun, isLast: boolean, now: number): RunRow {
  return { ...runToWrite(run, isLast, now), process: requiredClaimerOf(run) };
}

export function settlementRow(run: ClaimedRun, end: RunEnd, isLast: boolean, now: number): SettlementRow {
  return { ...runEndRow(run, end, isLast, now), process: requiredClaimerOf(run) };
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
