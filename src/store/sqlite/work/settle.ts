import type Database from 'better-sqlite3';
import type { RunKey, Sequence, Settled } from '../../run-key.ts';
import type { RunState, Settlement } from '../../store.ts';
import { withFormerReason } from './former-reason.ts';
import { byCall, isOpen } from './open-runs.ts';
import type { Holder } from './processes.ts';
import { prepareUnblockNext } from './unblock.ts';

/** A settlement as it is written. */
export interface SettlementRow extends Settlement {
  /** When the run is due, in milliseconds since 1970, or 0 for at once; null if it isn't. */
  readonly dueAt: number | null;
}

/**
 * The row of a settlement. A due run keeps the wait that was decided, because the wall clock may have been set since.
 */
export function settlementRow(settlement: Settlement, now: number): SettlementRow {
  const { state } = settlement;
  if (state.kind === 'following') return { ...settlement, state: atOnce, dueAt: state.dueAt };
  if (state.kind !== 'due') return { ...settlement, dueAt: null };
  return { ...settlement, dueAt: state.at === 0 ? 0 : now + state.at - settlement.now };
}

/** The verbs by which an attempt begins and ends. All run inside a transaction of the caller's. */
export function prepareSettling(database: Database.Database, holder: Holder) {
  const holdsEvent = database.prepare('select 1 from claims where sequence = ? and process = ?');
  const holdsRun = database.prepare(
    'select 1 from runs where sequence = ? and handler = ? and claimed_by = ?',
  );
  const insertRun = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, reason, settled_at)
    values (@sequence, @handler, @callId, @state, @attempts, @dueAt, @reason, @now) on conflict do nothing`);
  const updateRun = database.prepare(`
    update runs set state = @state, attempts = @attempts, due_at = @dueAt, claimed_by = null,
      reason = case when @state = 'blocked' then reason when @keepsReason then ${withFormerReason} else @reason end,
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
  const beginReading = database.prepare(
    'update crash_counts set tried_by = ?, being_read = 1 where sequence = ?',
  );
  const endReading = database.prepare(
    'update crash_counts set being_read = 0 where sequence = ? and tried_by = ?',
  );
  const endClaim = database.prepare('delete from claims where sequence = ? and process = ?');
  const countClaims = database
    .prepare('select count(*) from claims where sequence between ? and ? and process = ?')
    .pluck();
  const endStretch = database.prepare('delete from claims where sequence between ? and ? and process = ?');
  // Events that the join's run has seen need no further run.
  const settleJoin = database.prepare('update joins set settled = seen where handler = ? and call_id = ?');
  const earlierOpen = database.prepare(`
    select 1 from runs ${byCall} where call_id = ? and handler = ? and sequence < ? and ${isOpen}`);
  const earlierActive = database.prepare(`
    select 1 from runs ${byCall} where call_id = ? and handler = ? and sequence < ? and ${isOpen}
      and state <> 'blocked'`);
  const unblockNext = prepareUnblockNext(database);

  const holds = ({ sequence, handler, stored }: RunKey): boolean =>
    (stored ? holdsRun.get(sequence, handler, holder.id) : holdsEvent.get(sequence, holder.id)) !== undefined;

  /** Ends the claim on an event, if it still holds. */
  const endOne = (sequence: Sequence): boolean => endClaim.run(sequence, holder.id).changes === 1;

  /** Whether an earlier run of the same handler and call is still open: what a blocked run waits for. */
  const isBehindAnother = ({ sequence, handler, callId }: RunKey): boolean =>
    callId !== undefined && earlierOpen.get(callId, handler, sequence) !== undefined;

  /** The same, but without earlier runs that are blocked themselves: this may be the very run that they wait for. */
  const isBehindActive = ({ sequence, handler, callId }: RunKey): boolean =>
    callId !== undefined && earlierActive.get(callId, handler, sequence) !== undefined;

  /**
   * Decides the state inside the transaction, because the inbox may have changed since the caller decided. The run
   * that a blocked one was to wait for may have been settled, and nothing would unblock it any more. And a replay may
   * have requeued an earlier run, which a strict run that failed has to wait for.
   */
  const decided = (row: SettlementRow): SettlementRow => {
    const { state, isStrict } = row;
    if (state.kind === 'blocked' && !isBehindAnother(row)) return { ...row, state: atOnce, dueAt: 0 };
    if (state.kind === 'due' && isStrict && isBehindActive(row))
      return { ...row, state: blocked, dueAt: null };
    return row;
  };

  /** The settlement is lost; the claim on the event ends all the same, if this was the last run under it. */
  const lost = ({ sequence, last }: Settlement): Settled => {
    if (last) endClaim.run(sequence, holder.id);
    return 'lost';
  };

  return {
    holdsEvent: (sequence: Sequence) => holdsEvent.get(sequence, holder.id) !== undefined,

    beginReading(sequence: Sequence, handler: string | undefined): boolean {
      const { id } = holder;
      const claim =
        handler === undefined ? holdsEvent.get(sequence, id) : holdsRun.get(sequence, handler, id);
      if (claim !== undefined) beginReading.run(id, sequence);
      return claim !== undefined;
    },

    endReading: (sequence: Sequence): void => void endReading.run(sequence, holder.id),

    begin(run: RunKey): number | undefined {
      if (!holds(run)) return undefined;
      if (run.stored) return countAttempt.get(run.sequence, run.handler) as number;
      insertClaimed.run(run.sequence, run.handler, run.callId ?? null, holder.id);
      // A row that existed before is from an earlier try whose success was not reported to us, or it is not ours to
      // begin.
      return ownAttempts.get(run.sequence, run.handler, holder.id) as number | undefined;
    },

    settle(settlement: SettlementRow): Settled {
      const { sequence, handler, callId, state, stored, last } = settlement;
      if (isOrdinary(settlement)) {
        return endOne(sequence) ? 'settled' : 'lost';
      }
      if (!holds(settlement)) return lost(settlement);
      const isRemembered = stored || !last || state.kind !== 'done';
      if (isRemembered) {
        const write = stored ? updateRun : insertRun;
        // A row that exists already was written by a commit that overtook this settlement.
        if (write.run(columnsOf(decided(settlement))).changes === 0) {
          return lost(settlement);
        }
      }
      if (last) endClaim.run(sequence, holder.id);
      if (settlement.isJoin && state.kind === 'done') settleJoin.run(handler, callId);
      // Done whatever the handler's order is here: another process, or this one before a restart, may have blocked
      // the next run.
      if (state.kind === 'done' || state.kind === 'dead') unblockNext(callId, handler);
      return 'settled';
    },

    endClaim: endOne,

    /**
     * Ends the claims on events, and returns for each whether it still held. Events mostly end in the order in which
     * they came, so whole stretches of sequences are ended at once.
     */
    endClaims: (sequences: readonly Sequence[]): boolean[] =>
      stretchesOf(sequences).flatMap((stretch) => {
        const [first = 0, last = first] = [stretch[0], stretch.at(-1)];
        const isHeld = stretch.length > 1 && countClaims.get(first, last, holder.id) === stretch.length;
        if (!isHeld) return stretch.map(endOne);
        endStretch.run(first, last, holder.id);
        return stretch.map(() => true);
      }),
  };
}

const atOnce: RunState = { kind: 'due', at: 0, reason: '' };
const blocked: RunState = { kind: 'blocked' };

/** Whether there was one handler, and it was done at once: the end of the claim then says all there is to remember. */
export function isOrdinary({ state, stored, last, isJoin, isStrict }: Settlement): boolean {
  return state.kind === 'done' && last && !stored && !isJoin && !isStrict;
}

/** Groups sequences that directly follow each other. */
function stretchesOf(sequences: readonly Sequence[]): Sequence[][] {
  const stretches: Sequence[][] = [];
  for (const sequence of sequences) {
    const stretch = stretches.at(-1);
    if (stretch?.at(-1) === sequence - 1) stretch.push(sequence);
    else stretches.push([sequence]);
  }
  return stretches;
}

function columnsOf({ sequence, handler, callId, attempts, now, state, dueAt }: SettlementRow) {
  return {
    sequence,
    handler,
    callId: callId ?? null,
    attempts,
    now,
    state: state.kind,
    dueAt,
    reason: state.kind === 'due' || state.kind === 'dead' ? state.reason : null,
    keepsReason: state.kind === 'dead' && state.keepsReason === true ? 1 : 0,
  };
}
