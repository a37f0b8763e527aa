import type { Transaction } from '../connection/transaction.ts';
import type { RunRow } from './run-row.ts';

/** A run's place in its call. */
export type RunPlace = Pick<RunRow, 'callId' | 'handler' | 'sequence'>;

/**
 * Whether an earlier run of the same handler and call is open. Without those that are blocked themselves: this may be the very
 * run that they wait for. The run ahead is locked: if it were settled at this moment, it would not see the one behind it that is
 * about to be blocked, and nobody would ever unblock that one.
 */
export async function isBehind(
  transaction: Transaction,
  { callId, handler, sequence }: RunPlace,
  which: 'open' | 'active',
): Promise<boolean> {
  const found = await transaction.query(
    `select 1 from ringback.runs where call_id = $1 and handler = $2 and sequence < $3
       and state in ('due', 'claimed', 'blocked') and (state <> 'blocked' or $4) limit 1 for share`,
    [callId, handler, sequence, which === 'open'],
  );
  return found.length > 0;
}
