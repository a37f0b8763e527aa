import type { Order } from '../../../dispatch/handler.ts';
import type { Transaction } from '../connection/transaction.ts';

/** How many runs one step unblocks at the most. */
const maxInAStep = 500;

/** Unblocks the next run of a call and handler when the run that it waited for is over. */
export async function unblockNext(
  transaction: Transaction,
  callId: string | null,
  handler: string,
): Promise<void> {
  if (callId === null) return;
  // One whose attempt has failed may have a time before which it must not begin. Locked as it is chosen: one that is being
  // dismissed would otherwise be due again after that.
  await transaction.query(
    unblockChosen(
      `select sequence, handler from ringback.runs
       where call_id = $1 and handler = $2 and state = 'blocked' order by sequence limit 1 for update`,
    ),
    [callId, handler],
  );
}

/**
 * SQL: unblocks the runs that a select chooses and locks. It is a statement of its own inside this one: a subquery may be run
 * again for each row, and would then choose other runs, because it passes over those that the update has changed.
 */
const unblockChosen = (chosen: string): string => `
  with chosen as materialized (${chosen})
  update ringback.runs r set state = 'due', due_at = coalesce(r.due_at, 0)
  from chosen where r.sequence = chosen.sequence and r.handler = chosen.handler returning 1`;

/**
 * Unblocks some of the runs that no settlement would ever unblock: a run may have been blocked when its handler had the order
 * `strict`, and processes in which the handler now has another order block no runs. Resolves to how many it has unblocked.
 */
export async function unblock(transaction: Transaction, handler: string, order: Order): Promise<number> {
  return order === 'strict' ? unblockFirst(transaction, handler) : unblockAll(transaction, handler);
}

/** Unblocks the first run of each call that has no other run open but blocked ones, which wait for it. */
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
