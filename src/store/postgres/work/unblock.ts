import type { Order } from '../../../dispatch/handler.ts';
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
 * Unblocks some of the runs that no settlement would unblock. A settled run unblocks only the next one of its call, but
 * all of them may go if their handler had the order `strict` before and has another now. Resolves to how many were
 * unblocked.
 */
export async function unblock(transaction: Transaction, handler: string, order: Order): Promise<number> {
  return order === 'strict' ? unblockFirst(transaction, handler) : unblockAll(transaction, handler);
}

/** Unblocks the first run of each call whose open runs are all blocked. */
async function unblockFirst(transaction: Transaction, handler: string): Promise<number> {
  const unblocked = await transaction.query(
    unblockChosen(
      `select r.sequence, r.handler from ringback.runs r where r.handler = $1 and r.state = 'blocked' and not exists (
         select from ringback.runs o where o.call_id = r.call_id and o.handler = r.handler
           and o.state in ('due', 'claimed', 'blocked') and (o.sequence < r.sequence or o.state <> 'blocked'))
       limit ${maxInAStep} for update of r`,
    ),
    [handler],
  );
  return unblocked.length;
}

async function unblockAll(transaction: Transaction, handler: string): Promise<number> {
  const unblocked = await transaction.query(
    unblockChosen(
      `select sequence, handler from ringback.runs where handler = $1 and state = 'blocked'
       order by call_id, sequence limit ${maxInAStep} for update skip locked`,
    ),
    [handler],
  );
  return unblocked.length;
}
