import type { SeenDuplicates } from '../../event-store.ts';
import { identityKey } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';

/**
 * Looks identities up one by one: a join would read the whole table where the planner takes it for small. Writes in the
 * order of the events, or two processes could deadlock.
 */
const count = `
  insert into ringback.duplicates as d
  select sequence, sum(count)::bigint, min(first_seen_at), max(last_seen_at) from (
    select coalesce(
      (select i.sequence from ringback.identities i where i.identity = n.identity),
      (select i.sequence from ringback.identities i where i.identity = n.reconciled)
    ) as sequence, count, first_seen_at, last_seen_at
    from unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[])
      as n (identity, reconciled, count, first_seen_at, last_seen_at)) found
  where sequence is not null group by sequence order by sequence
  on conflict (sequence) do update set count = d.count + excluded.count,
    first_seen_at = least(d.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(d.last_seen_at, excluded.last_seen_at)`;

/** Counts duplicates by event. */
export async function addDuplicates(session: Session, seen: readonly SeenDuplicates[]): Promise<void> {
  const values = [
    seen.map(({ identity }) => identityKey(identity)),
    seen.map(({ reconciled }) => (reconciled === undefined ? null : identityKey(reconciled))),
    seen.map((duplicates) => duplicates.count),
    seen.map(({ firstSeenAt }) => firstSeenAt),
    seen.map(({ lastSeenAt }) => lastSeenAt),
  ];
  await session.write((transaction) => transaction.query(count, values));
}
