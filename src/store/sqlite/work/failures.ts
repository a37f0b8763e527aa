import type Database from 'better-sqlite3';
import {
  type Failure,
  type FailureGroup,
  type FailureQuery,
  type NamedGroup,
  groupsChecked,
  maxFailures,
  maxGroups,
} from '../../failure-store.ts';
import { maxCountedOfGroup } from '../../shared/bounds.ts';
import { type FailureGroupRow, failureGroupOf } from '../../shared/event-rows.ts';
import type { RunEndRow } from '../../shared/run-to-write.ts';

/** Keeps failed attempts. `keep` runs inside the transaction that settles the run. */
export function prepareFailures(database: Database.Database) {
  const insert = database.prepare(`
    insert into failures (sequence, handler, number, attempt, at, duration, outcome, cause, location, reason)
    values (@sequence, @handler,
      (select coalesce(max(number), 0) + 1 from failures where sequence = @sequence and handler = @handler),
      @attempt, @at, @duration, @outcome, @cause, @location, @reason) returning number`);
  const removeEarlier = database.prepare(
    'delete from failures where sequence = ? and handler = ? and number <= ?',
  );
  const insertGroup = database.prepare(`
    insert into failure_groups (fingerprint, handler, cause, location, message, first_seen_at)
    values (@group, @handler, @cause, @location, @message, @at)
    on conflict do update set message = excluded.message where message = ''`);
  const removeGroups = database.prepare(`
    delete from failure_groups where id in (
      select id from failure_groups
      where id <= (select max(id) from failure_groups) - ${maxGroups}
        and id > (select abs(random() % (max(id) - ${maxGroups})) from failure_groups)
      order by id limit ${groupsChecked}
    ) and muted_at is null and not exists (select 1 from runs where failure = fingerprint)`);
  const ofGroup = 'runs indexed by runs_failed where failure = fingerprint and';
  const countOf = (some: string) =>
    `(select count(*) from (select 1 from ${ofGroup} state in (${some}) limit ${maxCountedOfGroup}))`;
  const latestOf = (column: string) =>
    `(select ${column} from (${['dead', 'due', 'claimed', 'blocked']
      .map(
        (state) =>
          `select * from (select settled_at, sequence from ${ofGroup} state = '${state}' order by settled_at desc limit 1)`,
      )
      .join(' union all ')}) order by settled_at desc, sequence desc limit 1)`;
  // By group and state, each counted up to a bound: a million runs may have failed alike, and the page asks again and
  // again.
  const select = database.prepare(`
    select id, handler, cause, location, message, dead, retrying, firstSeenAt, lastSeenAt, mutedAt, trace_id as traceId
    from (
      select fingerprint as id, handler, cause, location, message, ${countOf("'dead'")} as dead,
        ${countOf("'due', 'claimed', 'blocked'")} as retrying, first_seen_at as firstSeenAt,
        max(first_seen_at, coalesce(${latestOf('settled_at')}, 0)) as lastSeenAt,
        muted_at as mutedAt, ${latestOf('sequence')} as sequence
      from failure_groups where @handler is null or handler = @handler) g
    left join events using (sequence)
    where dead + retrying > 0 order by lastSeenAt desc, id limit @limit`);
  const named = database.prepare(
    'select fingerprint as id, handler, cause, muted_at as mutedAt from failure_groups where fingerprint = ?',
  );
  const mute = database.prepare(
    'update failure_groups set muted_at = ? where fingerprint = ? and muted_at is null',
  );
  const unmute = database.prepare(
    'update failure_groups set muted_at = null where fingerprint = ? and muted_at is not null',
  );

  return {
    keep({ sequence, handler, attempts, now, state }: RunEndRow, failure: Failure): void {
      const { cause, reason, duration, group, message } = failure;
      const own = { sequence, handler, cause, location: failure.location ?? null, at: now };
      const outcome = state.kind === 'dead' ? 'dead' : 'retry';
      const { number } = insert.get({ ...own, attempt: attempts, duration, outcome, reason }) as {
        readonly number: number;
      };
      if (number > maxFailures) removeEarlier.run(sequence, handler, number - maxFailures);
      if (insertGroup.run({ ...own, group, message }).changes > 0) removeGroups.run();
    },

    named: (ids: readonly string[]): NamedGroup[] =>
      ids
        .flatMap((id) => named.all(id) as (Omit<NamedGroup, 'isMuted'> & { mutedAt: number | null })[])
        .map(({ mutedAt, ...group }) => ({ ...group, isMuted: mutedAt !== null })),
    mute: (id: string, now: number): boolean => mute.run(now, id).changes > 0,
    unmute: (id: string): boolean => unmute.run(id).changes > 0,

    groups: ({ handler, limit }: FailureQuery): FailureGroup[] =>
      (select.all({ handler: handler ?? null, limit }) as FailureGroupRow[]).map(failureGroupOf),
  };
}
