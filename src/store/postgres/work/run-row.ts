import { claimOf, claimerOf, isStored } from '../../shared/claimed-work.ts';
import { type EndToWrite, type RunToWrite, endToWrite } from '../../shared/run-to-write.ts';
import type { ClaimedEvent, ClaimedRun } from '../../claims.ts';
import type { RunEnd } from '../../store.ts';
import { toText, toTextOrNull } from '../connection/text.ts';

/** A run as it is written, by which process. Texts are as Postgres keeps them. */
export interface RunRow extends RunToWrite {
  readonly process: number;
  readonly callId: string | null;
}

/** The end of an attempt as it is written. */
export interface SettlementRow extends RunRow, EndToWrite {}

export function runRow(run: ClaimedRun, isLast: boolean, now: number): RunRow {
  const { sequence, callId, handler, attempts } = run;
  const { order, join } = claimOf(run).handler;
  const names = { callId: toTextOrNull(callId), handler: toText(handler) };
  const isJoin = join !== undefined;
  return {
    process: requiredClaimerOf(run),
    sequence,
    ...names,
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

/** The process under whose id it was claimed. */
export function requiredClaimerOf(claimed: ClaimedEvent | ClaimedRun): number {
  const claimer = claimerOf(claimed);
  if (claimer === undefined) throw new Error('Nobody has claimed it.');
  return claimer;
}

/**
 * SQL: when a run that is given back is due. It has waited since it was due, and is due now, although the clock of the machine
 * that had claimed it may be fast, or have been set back since. A run that was stored as it was counted has had no such time.
 */
export const dueAsBefore =
  'least(coalesce(due_at, 0), floor(extract(epoch from clock_timestamp()) * 1000)::bigint)';
