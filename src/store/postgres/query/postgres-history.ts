import type { Counts } from '../../../kit/activity.ts';
import {
  type HistoryRow,
  type HistoryStore,
  type Resolution,
  countsOfHour,
  gauges,
  resolutions,
  startOf,
  wholeReceiver,
} from '../../history-store.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { maxCounted, maxLookedUp } from '../../shared/bounds.ts';
import { withDueHandlers } from './overview.ts';

/** Counts by minute and hour in Postgres. */
export const historyOn = (session: Session): HistoryStore => ({
  async add(at, counts, mayRemove, handlers = new Map()) {
    await session.write(async (transaction) => {
      await addTo(transaction, 'minute', at, new Map([...handlers, [wholeReceiver, counts]]));
      const { waited, groups } = await oneRow<{ waited: number | null; groups: string | null }>(
        transaction,
        `select (select sum(count)::bigint from ringback.history
             where resolution = 'minute' and handler = $1 and at = $2 and name in ('waiting', 'held')) as waited,
           (select string_agg(name, ' ') from ringback.history
             where resolution = 'hour' and handler = $1 and at = $3 and name between 'group:' and 'group;') as groups`,
        [wholeReceiver, startOf('minute', at), startOf('hour', at)],
      );
      const ofHour = countsOfHour(counts, waited ?? 0, groups?.split(' ') ?? []);
      await addTo(transaction, 'hour', at, new Map([...handlers, [wholeReceiver, ofHour]]));
      if (!mayRemove) return;
      for (const [resolution, { kept }] of Object.entries(resolutions))
        await transaction.query(
          `${withHandlers}
           delete from ringback.history where (resolution, handler, at, name) in (
             select resolution, handler, at, name from ringback.history
             where resolution = $1 and handler in (select handler from handlers) and at < $2
             for update skip locked)`,
          [resolution, at - kept],
        );
    });
  },

  list: (resolution, since, until, handler = wholeReceiver, kinds) =>
    session.query<HistoryRow>(
      `select at, name, count from ringback.history
       where resolution = $1 and handler = $2 and at >= $3 and at < $4
         and ($5::text[] is null or
           case strpos(name, ':') when 0 then name else left(name, strpos(name, ':')) end = any ($5))
       order by at, name`,
      [resolution, handler, since, until, kinds ?? null],
    ),

  async backlog(now) {
    const { waiting, oldest } = await oneRow<{ waiting: number; oldest: number | null }>(
      session,
      `${withDueHandlers}, found as (
         select count(*) as count, min(sequence) as sequence, null::bigint as replayed_at, null::bigint as due_at
         from (select sequence from ringback.waiting order by sequence limit ${maxCounted}) w
         union all
         select d.* from due_handlers h cross join lateral (
           with at_once as materialized (
             select sequence, replay ${due} and due_at = 0 order by sequence limit ${maxLookedUp})
           select (select count(*) from (select ${due} and due_at <= $1 order by due_at limit ${maxCounted}) r),
             (select min(sequence) from at_once where replay is null),
             (select min(coalesce(finished_at, $1)) from ringback.audit where id in (select replay from at_once)),
             (select min(due_at) ${due} and due_at > 0 and due_at <= $1)) d)
       select sum(count)::bigint as waiting, least(
         (select received_at from ringback.events where sequence = (select min(sequence) from found)),
         min(replayed_at), min(due_at)) as oldest
       from found`,
      [now],
    );
    return { waiting, oldest: oldest ?? undefined };
  },
});

/**
 * The due runs of a handler are counted up to a bound, and all but `maxLookedUp` by the index alone: after an outage
 * there may be millions, and every process asks this each minute.
 */
const due = "from ringback.runs where state = 'due' and handler = h.handler";

/** Begins a statement that reads `handlers`, from name to name along the key: what stays is not gone through. */
const withHandlers = `
  with recursive names (handler) as (
    select min(handler) from ringback.history where resolution = $1 union all
    select (select min(handler) from ringback.history where resolution = $1 and handler > names.handler) from names
    where handler is not null),
  handlers as (select handler from names where handler is not null)`;

/**
 * Adds counts to a minute or an hour. Writes names in one order, because two processes that add to the same minute
 * could otherwise deadlock.
 */
async function addTo(
  transaction: Transaction,
  resolution: Resolution,
  at: number,
  counts: ReadonlyMap<string, Counts>,
): Promise<void> {
  const rows = [...counts].flatMap(([handler, own]) =>
    [...own].map(([name, count]) => ({ handler, name, count })),
  );
  await transaction.query(
    `insert into ringback.history as h (resolution, handler, at, name, count)
     select $1, n.handler, $2, n.name, n.count
     from unnest($3::text[], $4::text[], $5::bigint[]) as n (handler, name, count) order by n.handler, n.name
     on conflict (resolution, handler, at, name) do update set count =
       case when h.name = any ($6) then greatest(h.count, excluded.count) else h.count + excluded.count end`,
    [
      resolution,
      startOf(resolution, at),
      rows.map(({ handler }) => handler),
      rows.map(({ name }) => name),
      rows.map(({ count }) => count),
      [...gauges],
    ],
  );
}
