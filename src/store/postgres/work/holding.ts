/** Claims on events and runs: whether they hold, and how they end. */
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { type Ranges, firstsAndLasts } from './ranges.ts';
import type { ClaimOnEvent, ClaimOnRun } from '../../shared/claimed-work.ts';

/** Whether the process holds a claim on the event, of either form. */
export async function holdsEvent(
  transaction: Transaction,
  { process, sequence }: ClaimOnEvent,
): Promise<boolean> {
  const { holds } = await oneRow<{ holds: boolean }>(
    transaction,
    `select ringback.lives($2) and (
       exists (select from ringback.claims where sequence = $1 and process = $2)
       or exists (select from ringback.owned where sequence = $1 and process = $2)) as holds`,
    [sequence, process],
  );
  return holds;
}

/** Whether the process holds the claim on a stored run. */
export async function holdsRun(
  transaction: Transaction,
  { process, sequence, handler }: ClaimOnRun,
): Promise<boolean> {
  const { holds } = await oneRow<{ holds: boolean }>(
    transaction,
    `select ringback.lives($3) and exists (
       select from ringback.runs where sequence = $1 and handler = $2 and claimed_by = $3) as holds`,
    [sequence, handler, process],
  );
  return holds;
}

export async function endClaim(transaction: Transaction, { process, sequence }: ClaimOnEvent): Promise<void> {
  await transaction.query(
    `with ended as (delete from ringback.claims where sequence = $1 and process = $2 returning 1)
     insert into ringback.ended (process, first, last)
     select $2, $1, $1 from ringback.owned where sequence = $1 and process = $2`,
    [sequence, process],
  );
}

/**
 * Keeps the events that a process has claimed from being removed until the transaction ends, and waits for removals
 * that have begun: an event given back while it is removed would wait for ever, because the removal doesn't see its new
 * row. This is a statement of its own, so that the next one has a new snapshot, without what was removed.
 *
 * It also keeps `ended` from being truncated until the transaction ends: Postgres locks what a statement reads before
 * it takes the statement's snapshot.
 *
 * `withRuns`: also the events of stored runs that the process has claimed. Only for a caller that has locked the
 * process alone: otherwise this and the process's settlements would wait for each other.
 */
export async function lockEventsOf(
  transaction: Transaction,
  process: number,
  { withRuns = false } = {},
): Promise<void> {
  const ofRuns = withRuns ? 'union select sequence from ringback.runs where claimed_by = $1' : '';
  await transaction.query(
    `select from ringback.events where sequence = any (array(
       select sequence from ringback.claims where process = $1
       union select sequence from ringback.all_owned where process = $1 ${ofRuns}))
     order by sequence for key share`,
    [process],
  );
}

/** Claims to end, by their form. */
export interface ClaimsToEnd {
  readonly owned: Ranges;
  readonly inClaims: readonly number[];
}

/**
 * Ends claims on events. Resolves to whether the process still lives, without which all of them are lost, and to those
 * of `inClaims` that held.
 */
export function endClaims(
  transaction: Transaction,
  process: number,
  { owned, inClaims }: ClaimsToEnd,
): Promise<{ readonly lives: boolean; readonly held: readonly number[] }> {
  return oneRow(
    transaction,
    'select lives, held from ringback.end_claims($1, $2::bigint[], $3::bigint[], $4::bigint[])',
    [process, ...firstsAndLasts(owned), inClaims],
  );
}

/**
 * SQL: the due time of a run that is given back: what it was, but not later than now, because the clock of the machine
 * that claimed it may be fast, or have been set back since. A run stored by `countAttempt` has none.
 */
export const dueAsBefore =
  'least(coalesce(due_at, 0), floor(extract(epoch from clock_timestamp()) * 1000)::bigint)';
