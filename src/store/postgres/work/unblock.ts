import type { Transaction } from '../connection/transaction.ts';

/** How many runs one step unblocks at most. */
const maxInAStep = 500;

/** Unblocks the next run of a call and handler when the run that it waited for is settled. */
export async function unblockNext(
  transaction: Transaction,
  callId: string | null,
  handler: string,
): Promise<void> {
  if (callId === null) return;
  // Locked as it is chosen: a run that is being dismissed would otherwise be due again after that.
  await transaction.query(
    unblockChosen(
      `select sequence, handler from ringback.runs
       where call_id = $1 and handler = $2 and state = 'blocked' order by sequence limit 1 for update`,
    ),
    [callId, handler],
  );
}

/**
 * SQL: unblocks the runs that a select chooses and locks; one that waits for a retry keeps its due time. The select is
 * materialized: as a subquery, it could be run again for each row, and choose other runs than those already updated.
 */
const unblockChosen = (chosen: string): string => `
  with chosen as materialized (${chosen})
  update ringback.runs r set state = 'due', due_at = coalesce(r.due_at, 0)
  from chosen where r.sequence = chosen.sequence and r.handler = chosen.handler returning 1`;

/**
 * Unblocks some of the runs of a handler whose order is no longer `strict`: a settled run unblocks only the next one of
 * its call, but all of them may go. Resolves to how many were unblocked.
 */
export async function unblockSome(transaction: Transaction, handler: string): Promise<number> {
  const unblocked = await transaction.query(
    unblockChosen(
      `select sequence, handler from ringback.runs where handler = $1 and state = 'blocked'
       order by call_id, sequence limit ${maxInAStep} for update skip locked`,
    ),
    [handler],
  );
  return unblocked.length;
}
