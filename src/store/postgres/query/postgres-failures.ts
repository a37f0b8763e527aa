import type { FailureStore, NamedGroup } from '../../failure-store.ts';
import { maxCountedOfGroup } from '../../shared/bounds.ts';
import { type FailureGroupRow, failureGroupOf } from '../../shared/event-rows.ts';
import type { Session } from '../connection/session.ts';

/**
 * The runs of a group that are not done: how many, when the latest failed, and of which event. By group and state, each
 * counted up to a bound, because a million may have failed alike, and the page asks again and again. A run that was
 * replayed since has no time of its failure any more, and is selected separately, because nulls would sort before the
 * others.
 */
const runsOfGroup = `
  select coalesce(sum(count) filter (where s = 'dead'), 0)::bigint as dead,
    coalesce(sum(count) filter (where s <> 'dead'), 0)::bigint as retrying, max(latest) as last_seen_at,
    (array_agg(sequence order by latest desc nulls last, sequence desc) filter (where sequence is not null))[1] as sequence
  from unnest(array['dead', 'due', 'claimed', 'blocked']) s
  cross join lateral (select count(*) from (
    select from ringback.runs where failure = fingerprint and state = s limit ${maxCountedOfGroup}) r) counted
  left join lateral (
    (select settled_at as latest, sequence from ringback.runs
     where failure = fingerprint and state = s and settled_at is not null order by settled_at desc limit 1)
    union all
    (select null, sequence from ringback.runs
     where failure = fingerprint and state = s and settled_at is null limit 1)
    order by latest desc nulls last limit 1) l on true`;

/** Groups of failures in Postgres. */
export const failuresOn = (session: Session): FailureStore => ({
  async groups({ handler, limit }) {
    const rows = await session.query<FailureGroupRow>(
      `select fingerprint as id, g.handler, cause, location, message, dead, retrying, first_seen_at as "firstSeenAt",
         greatest(first_seen_at, last_seen_at) as "lastSeenAt", trace_id as "traceId", muted_at as "mutedAt"
       from ringback.failure_groups g cross join lateral (${runsOfGroup}) runs
       left join ringback.events using (sequence)
       where ($1::text is null or g.handler = $1) and dead + retrying > 0
       order by "lastSeenAt" desc, fingerprint limit $2`,
      [handler ?? null, limit],
    );
    return rows.map(failureGroupOf);
  },

  named: (ids) =>
    session.query<NamedGroup>(
      `select fingerprint as id, handler, cause, muted_at is not null as "isMuted" from ringback.failure_groups
       where fingerprint = any ($1)`,
      [ids],
    ),

  async mute(id, now) {
    const muted = await session.query(
      'update ringback.failure_groups set muted_at = $2 where fingerprint = $1 and muted_at is null returning 1',
      [id, now],
    );
    return muted.length > 0;
  },

  async unmute(id) {
    const unmuted = await session.query(
      `update ringback.failure_groups set muted_at = null where fingerprint = $1 and muted_at is not null
       returning 1`,
      [id],
    );
    return unmuted.length > 0;
  },
});
