import { type Failure, groupsChecked, maxFailures, maxGroups } from '../../failure-store.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import type { RunEndRow } from '../../shared/run-to-write.ts';

/** SQL: no run is in the group of failures. */
export const isUnused = 'not exists (select from ringback.runs where failure = fingerprint)';

/** Keeps a failed attempt, in the transaction that settles its run. */
export async function keepFailure(transaction: Transaction, row: RunEndRow, failure: Failure): Promise<void> {
  const { sequence, handler, attempts, now, state } = row;
  const { cause, location = null, reason, message, duration, group } = failure;
  const outcome = state.kind === 'dead' ? 'dead' : 'retry';
  const { number } = await oneRow<{ number: number }>(
    transaction,
    `insert into ringback.failures (sequence, handler, number, attempt, at, duration, outcome, cause, location, reason)
     values ($1, $2,
       (select coalesce(max(number), 0) + 1 from ringback.failures where sequence = $1 and handler = $2),
       $3, $4, $5, $6, $7, $8, $9) returning number`,
    [sequence, handler, attempts, now, duration, outcome, cause, location, reason],
  );
  if (number > maxFailures)
    await transaction.query(
      'delete from ringback.failures where sequence = $1 and handler = $2 and number <= $3',
      [sequence, handler, number - maxFailures],
    );
  await keepGroup(transaction, [group, handler, cause, location, message, now]);
}

/**
 * A group that has its message already is not written, because many processes settle runs of it at the same time. It is
 * locked, which they can share: without a run that is committed, another one could remove it as unused.
 */
async function keepGroup(transaction: Transaction, values: readonly unknown[]): Promise<void> {
  const [fingerprint, , , , message] = values;
  const known = await transaction.query(
    `select 1 from ringback.failure_groups where fingerprint = $1 and (message <> '' or $2 = '') for key share`,
    [fingerprint, message],
  );
  if (known.length > 0) return;
  await transaction.query(
    `insert into ringback.failure_groups (fingerprint, handler, cause, location, message, first_seen_at)
     values ($1, $2, $3, $4, $5, $6) on conflict (fingerprint) do update set message = excluded.message`,
    values,
  );
  const unused = await transaction.query<{ id: number }>(
    `select id from ringback.failure_groups
     where id in (
         select id from ringback.failure_groups
         where id <= (select max(id) from ringback.failure_groups) - ${maxGroups}
           and id > (select floor(random() * (max(id) - ${maxGroups}))::bigint from ringback.failure_groups)
         order by id limit ${groupsChecked})
       and muted_at is null and ${isUnused}
     for update skip locked`,
  );
  // Decided again in a statement of its own, which sees a run that was committed before the group was locked.
  if (unused.length > 0)
    await transaction.query(`delete from ringback.failure_groups where id = any ($1) and ${isUnused}`, [
      unused.map(({ id }) => id),
    ]);
}
