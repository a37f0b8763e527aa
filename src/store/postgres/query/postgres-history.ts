import {
  type HistoryRow,
  type HistoryStore,
  type Resolution,
  countsOfHour,
  gauges,
  resolutions,
} from '../../history-store.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { maxCounted, maxLookedUp } from '../../shared/bounds.ts';
import { withDueHandlers } from './overview.ts';

/** Counts by minute and hour in Postgres. */
export const historyOn = (session: Session): HistoryStore => ({
  async add(at, counts, mayRemove) {
    await session.write(async (transaction) => {
      const minute = await addTo(transaction, 'minute', at, counts);
      const { waited } = await oneRow<{ waited: number | null }>(
        transaction,
        `select sum(count)::bigint as waited from ringback.history
         where resolution = 'minute' and at = $1 and name in ('waiting', 'held')`,
        [minute],
      );
      await addTo(transaction, 'hour', at, countsOfHour(counts, waited ?? 0));
      if (!mayRemove) return;
      for (const [resolution, { kept }] of Object.entries(resolutions))
        await transaction.query(
          `delete from ringback.history where (resolution, at, name) in (
             select resolution, at, name from ringback.history where resolution = $1 and at < $2
             for update skip locked)`,
          [resolution, at - kept],
        );
    });
  },

  list: (resolution, since, until) =>
    session.query<HistoryRow>(
      `select at, name, count from ringback.history where resolution = $1 and at >= $2 and at < $3 order by at, name`,
      [resolution, since, until],
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

/**
 * Adds counts to a minute or an hour, and resolves to when that begins. Writes names in one order, because two processes
 * that add to the same minute could otherwise deadlock.
 */
async function addTo(
  transaction: Transaction,
  resolution: Resolution,
  at: number,
  counts: ReadonlyMap<string, number>,
): Promise<number> {
  const { length } = resolutions[resolution];
  const start = Math.floor(at / length) * length;
  const names = [...counts.keys()].toSorted();
  const values = names.map((name) => counts.get(name));
  await transaction.query(
    `insert into ringback.history as h (resolution, at, name, count)
     select $1, $2, n.name, n.count from unnest($3::text[], $4::bigint[]) as n (name, count) order by n.name
     on conflict (resolution, at, name) do update set count =
       case when h.name = any ($5) then greatest(h.count, excluded.count) else h.count + excluded.count end`,
    [resolution, start, names, values, [...gauges]],
  );
  return start;
}
