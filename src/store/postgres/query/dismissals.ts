import type { DismissalStep, DismissalWrite, DismissedRun } from '../../event-store.ts';
import { type RunTaken, runsThatBlocked } from '../../shared/changed-runs.ts';
import type { Sequence } from '../../event-record.ts';
import type { Transaction } from '../connection/transaction.ts';
import { withFormerReason } from '../../shared/run-to-write.ts';
import { addToEntry, advance } from './postgres-audit.ts';
import { unblockNext } from '../work/unblock.ts';

interface RunRow extends RunTaken {
  readonly sequence: Sequence;
}

export async function wouldDismiss(transaction: Transaction, step: DismissalStep): Promise<DismissedRun[]> {
  return (await decide(transaction, step, '')).map(dismissedRun);
}

/** See `EventStore.dismiss`. */
export async function dismiss(
  transaction: Transaction,
  { step, reason, now, ...which }: DismissalWrite,
): Promise<DismissedRun[] | undefined> {
  if (!(await advance(transaction, step))) return undefined;
  // Locked, so that none of them is claimed meanwhile.
  const runs = await decide(transaction, which, 'for update');
  for (const { sequence, handler } of runs) {
    await transaction.query(
      `update ringback.runs set state = 'done', due_at = null, settled_at = $4, failure = null,
         reason = ${withFormerReason('$3')}
       where sequence = $1 and handler = $2`,
      [sequence, handler, reason, now],
    );
  }
  // Only after all of them are settled, so that none of them is unblocked.
  for (const { callId, handler } of runsThatBlocked(runs)) await unblockNext(transaction, callId, handler);
  const dismissed = runs.map(dismissedRun);
  await addToEntry(transaction, step.id, dismissed);
  return dismissed;
}

/** Decides which runs are dismissed, both for a dry run and for the dismissal, so that the two agree. */
function decide(transaction: Transaction, step: DismissalStep, lock: '' | 'for update'): Promise<RunRow[]> {
  const { sequences, handler, takesDead, takesWaiting } = step;
  return transaction.query<RunRow>(
    `select sequence, handler, call_id as "callId", state from ringback.runs
     where sequence = any ($1) and ($2::text is null or handler = $2)
       and ($3 and state = 'dead' or $4 and state in ('due', 'blocked'))
     order by array_position($1, sequence), handler ${lock}`,
    [sequences, handler ?? null, takesDead, takesWaiting],
  );
}

function dismissedRun({ sequence, handler }: RunRow): DismissedRun {
  return { sequence, handler };
}
