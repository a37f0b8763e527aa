/** Claims on events and runs: whether they hold, and how they end. */
import type { Transaction } from '../connection/transaction.ts';
import type { RunRow } from './run-row.ts';

type EventClaim = Pick<RunRow, 'process' | 'sequence'>;

/** Whether the process has claimed the event: as it recorded it, or from those that waited. */
export async function holdsEvent(
  transaction: Transaction,
  { process, sequence }: EventClaim,
): Promise<boolean> {
  const [row] = await transaction.query<{ holds: boolean }>(
    `select ringback.lives($2) and (
       exists (select from ringback.claims where sequence = $1 and process = $2)
       or exists (select from ringback.owned where sequence = $1 and process = $2)) as holds`,
    [sequence, process],
  );
  return row?.holds === true;
}

/** Whether the process has claimed the run, which has a row. */
export async function holdsRun(
  transaction: Transaction,
  { process, sequence, handler }: Pick<RunRow, 'process' | 'sequence' | 'handler'>,
): Promise<boolean> {
  const [row] = await transaction.query<{ holds: boolean }>(
    `select ringback.lives($3) and exists (
       select from ringback.runs where sequence = $1 and handler = $2 and claimed_by = $3) as holds`,
    [sequence, handler, process],
  );
  return row?.holds === true;
}

/** Ends the claim on one event. */
export async function endClaim(transaction: Transaction, { process, sequence }: EventClaim): Promise<void> {
  await transaction.query(
    `with ended as (delete from ringback.claims where sequence = $1 and process = $2 returning 1)
     insert into ringback.ended (process, first, last)
     select $2, $1, $1 from ringback.owned where sequence = $1 and process = $2`,
    [sequence, process],
  );
}

/** Which claims are to be ended: events that the process recorded, in ranges, and others. */
export interface ClaimsToEnd {
  readonly owned: readonly (readonly [first: number, last: number])[];
  readonly claimed: readonly number[];
}

/**
 * Ends the claims on events, each of which was one run's that was done at once. Resolves to whether the process still lives,
 * without which all of them are lost, and to those of the others that held.
 */
export async function endClaims(
  transaction: Transaction,
  process: number,
  { owned, claimed }: ClaimsToEnd,
): Promise<{ readonly lives: boolean; readonly held: ReadonlySet<number> }> {
  const [row] = await transaction.query<{ lives: boolean; held: number[] }>(
    `with alive as materialized (select ringback.lives($1) as lives), ended as (
       delete from ringback.claims using alive where alive.lives and process = $1 and sequence = any ($4)
       returning sequence
     ), added as (
       insert into ringback.ended (process, first, last)
       select $1, r.first, r.last from unnest($2::bigint[], $3::bigint[]) as r (first, last), alive where alive.lives
     )
     select lives, array(select sequence from ended) as held from alive`,
    [process, owned.map(([first]) => first), owned.map(([, last]) => last), claimed],
  );
  return { lives: row?.lives === true, held: new Set(row?.held) };
}
