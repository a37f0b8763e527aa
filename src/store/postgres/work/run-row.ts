import type { Order } from '../../../dispatch/handling.ts';
import { claimOf, isStored } from '../../shared/claimed-work.ts';
import type { ClaimedRun } from '../../claims.ts';
import type { Sequence } from '../../sequence.ts';
import type { RunEnd, RunState } from '../../store.ts';
import { toText, toTextOrNull } from '../connection/text.ts';

/** A run as it is written: which one, and under which claim. Texts are as Postgres keeps them. */
export interface RunRow {
  readonly process: number;
  readonly sequence: Sequence;
  readonly callId: string | null;
  readonly handler: string;
  readonly order: Order;
  readonly isJoin: boolean;
  /** Whether it has a row already; if not, it is held by the claim on its event. */
  readonly stored: boolean;
  /** Whether no other run without a row is left, so that the claim on the event ends. */
  readonly last: boolean;
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The end of an attempt as it is written. */
export interface SettlementRow extends RunRow {
  readonly state: RunState;
  /** When the run is due, in milliseconds since 1970, or 0 for at once; null if it isn't. */
  readonly dueAt: number | null;
}

/** The row of a claimed run. */
export function runRow(run: ClaimedRun, process: number, last: boolean, now: number): RunRow {
  const { sequence, callId, handler, attempts } = run;
  const { order, join } = claimOf(run).handler;
  const names = { callId: toTextOrNull(callId), handler: toText(handler) };
  return {
    process,
    sequence,
    ...names,
    order,
    isJoin: join !== undefined,
    stored: isStored(run),
    last,
    attempts,
    now,
  };
}

/**
 * The row of a run's end. A due run keeps the wait that was decided, because the wall clock may have been set since.
 */
export function settlementRow(
  run: ClaimedRun,
  { state, attempts, now: decidedAt }: RunEnd,
  { process, last, now }: { readonly process: number; readonly last: boolean; readonly now: number },
): SettlementRow {
  const row = { ...runRow(run, process, last, decidedAt), attempts };
  if (state.kind !== 'due') return { ...row, state, dueAt: null };
  return { ...row, state, dueAt: state.at === 0 ? 0 : now + state.at - decidedAt };
}

/** Whether there was one handler, and it was done at once: the end of the claim then says all there is to remember. */
export function isOrdinary({ state, stored, last, isJoin, order }: SettlementRow): boolean {
  return state.kind === 'done' && last && !stored && !isJoin && order !== 'strict';
}
